"""Pure rules: values in, values out. Nothing here knows Django, a database or what time it is."""
