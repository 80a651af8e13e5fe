"""Long runs that break processes on purpose and then account for every slot; started by hand or by CI."""
