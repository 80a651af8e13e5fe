"""The page of a job tells which slots were not run and why, and is silent when there are none."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.pages.reading import ask, live_address, text_of
from tests.queries.rows import NOON, make_job, make_missed_range


def _lines(html: str) -> list[str]:
    section = re.search(r'<section[^>]*aria-labelledby="missed-title".*?</section>', html, re.DOTALL)
    assert section, "no section of missed ranges"
    items = re.findall(r"<li>(.*?)</li>", section.group(), re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", item)) for item in items]


def test_a_job_without_missed_ranges_has_no_such_section(reader: Client) -> None:
    assert "Missed ranges" not in text_of(reader.get(f"/jobs/{make_job().pk}/"))


def test_the_newest_five_ranges_are_told_in_words(reader: Client) -> None:
    job = make_job()
    make_missed_range(job, NOON - timedelta(hours=1), reason="edited")
    make_missed_range(job, NOON, slots=10)
    make_missed_range(job, NOON + timedelta(hours=1), reason="fault")
    make_missed_range(job, NOON + timedelta(hours=2), slots=2, reason="coalesced")
    make_missed_range(job, NOON + timedelta(hours=3), slots=3, reason="skipped", count=None)
    make_missed_range(job, NOON + timedelta(hours=4), slots=2, reason="<b>")
    reader.cookies["zone"] = "Asia/Tokyo"

    shown = _lines(text_of(reader.get(f"/jobs/{job.pk}/")))

    assert [line.replace(" 2026", "") for line in shown] == [
        "2 slots from 3 Jan 01:00:00 to 3 Jan 01:01:00 were not run: <b>",
        "more than 100,000 slots from 3 Jan 00:00:00 to 3 Jan 00:02:00 were not run: "
        "late, and the job skips late runs",
        "2 slots from 2 Jan 23:00:00 to 2 Jan 23:01:00 were not run: late, made up for by one newer run",
        "1 slot at 2 Jan 22:00:00 was not run: the job was held by a fault",
        "10 slots from 2 Jan 21:00:00 to 2 Jan 21:09:00 were not run: the job was disabled",
    ]


def test_a_new_range_comes_with_the_next_tick(reader: Client) -> None:
    job = make_job()
    address = live_address(text_of(reader.get(f"/jobs/{job.pk}/")))
    make_missed_range(job, slots=2)
    cache.clear()

    assert len(_lines(text_of(ask(reader, address)))) == 1


def test_many_ranges_cost_as_many_statements_as_none(reader: Client) -> None:
    job = make_job()
    counts = []
    for made in (0, 30):
        for number in range(made):
            make_missed_range(job, NOON + timedelta(hours=number))
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert reader.get(f"/jobs/{job.pk}/").status_code == 200
        counts.append(len(queries))

    assert counts[0] == counts[1]
