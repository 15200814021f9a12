"""`check-policy` says which rule a policy broke, where, and what had happened before."""

import json
from pathlib import Path

import polars as pl
import pytest

from clockhand import Frames, check_policy, policies
from conftest import Clockhand
from test_own_policies import EXAMPLE, FIFO, LRU, saved

RULES = 10

CHOOSES = "chooses pages that are in memory"
SEVERAL = "chooses several pages in a row, each once"
PINNED = "passes over pinned pages and leaves their bits alone"
ANEW = "starts afresh in each memory, and chooses the same pages again"

BROKEN = {
    "it never forgets its victims": (
        FIFO.replace("                self.queue.remove(frame)\n", "", 1),
        SEVERAL,
        "chose frame 0 twice",
    ),
    "it returns pages instead of frames": (
        FIFO.replace("return frame", "return frames.page(frame)"),
        CHOOSES,
        "which there is not (they go from 0 to ",
    ),
    "it returns nothing where all pages are referenced": (
        EXAMPLE.replace("while frames", "if frames").replace("return self", "else: return self")
        .replace("            self.ring.rotate(-1)\n", ""),
        CHOOSES,
        "returned None, which is no number of a frame,",
    ),
    "it chooses pinned pages": (
        FIFO.replace("if not frames.is_pinned(frame)", "if True"),
        PINNED,
        "which is pinned, at fault ",
    ),
    "it clears the bits of pinned pages": (
        FIFO.replace("for frame in self.queue:", "for frame in self.queue:\n"
                     "            frames.clear_bits(frame)"),
        PINNED,
        "it changed the bits of frame ",
    ),
    "it keeps pages that were dropped": (
        FIFO.replace("    def dropped(self, frame, frames):\n        self.queue.remove(frame)",
                     "    def dropped(self, frame, frames): ..."),
        "forgets pages that leave out of turn",
        "",
    ),
    "it is not told of pages that were dropped": (
        FIFO.replace("def dropped", "def forgotten"),
        "forgets pages that leave out of turn",
        "dropped(frame, frames) is missing, and a page was dropped at fault",
    ),
    "it draws numbers without the seed": (
        "import random\n"
        + FIFO.replace("for frame in self.queue",
                       "for frame in random.sample(self.queue, len(self.queue))"),
        ANEW,
        "keep what it remembers in self, and draw random numbers from the seed",
    ),
    "it shares what it remembers with others": (
        FIFO.replace("        self.queue = []\n", "").replace(
            "class Fifo:", "class Fifo:\n    queue = []"),
        ANEW,
        "",
    ),
    "it needs two frames": (
        FIFO.replace("for frame in self.queue", "for frame in sorted(self.queue)[1:]"),
        "works in a memory of one frame",
        "returned None",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, what: str) -> None:
    source, rule, wrong = BROKEN[what]
    name = "Clock" if "class Clock" in source else "Fifo"
    checked = check_policy(f"{saved(tmp_path, source)}:{name}")
    assert checked.sentence is not None, what
    assert f"broke the rule that a policy {rule}: at reference " in checked.sentence
    assert wrong in checked.sentence
    assert 1 <= len(checked.events) <= 10
    assert checked.rules["rule"][-1] == rule
    assert checked.rules["kept"].to_list() == [True] * (len(checked.rules) - 1) + [False]


@pytest.mark.parametrize(("source", "name"), [(EXAMPLE, "Clock"), (FIFO, "Fifo"), (LRU, "Lru")])
def test_a_policy_that_keeps_the_rules_passes(tmp_path: Path, source: str, name: str) -> None:
    checked = check_policy(f"{saved(tmp_path, source)}:{name}")
    assert checked.sentence is None, checked.sentence
    assert len(checked.rules) == RULES
    assert checked.rules["kept"].all()


def test_a_class_is_checked_as_it_is() -> None:
    class First:
        def choose_victim(self, frames: Frames) -> int:
            return 0

    checked = check_policy(First)
    assert checked.sentence is not None
    assert (
        "policy First: choose_victim chose frame 0 twice, and no page came between, at"
        in checked.sentence
    )


@pytest.mark.parametrize(
    "policy", policies().filter(pl.col("kind").str.ends_with("driven"))["name"]
)
def test_every_policy_of_the_catalog_keeps_the_rules(policy: str) -> None:
    checked = check_policy(policy)
    assert checked.sentence is None
    assert len(checked.rules) == RULES


def test_the_command_prints_rules_and_events(clockhand: Clockhand, tmp_path: Path) -> None:
    saved(tmp_path, BROKEN["it chooses pinned pages"][0])
    run = clockhand("check-policy", "mine.py:Fifo")
    assert run.code == 1
    assert "what happened last" in run.out.decode()
    assert "is pinned" in run.out.decode()
    assert run.err.startswith(f"clockhand: mine.py:Fifo broke the rule that a policy {PINNED}: ")
    assert run.err.count("\n") == 1


def test_the_command_ends_well_where_all_rules_are_kept(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    saved(tmp_path, EXAMPLE)
    for policy in ("mine.py:Clock", "craw:c=3", "arc"):
        run = clockhand("check-policy", policy, "--format", "json")
        assert (run.code, run.err) == (0, ""), policy
        rules = json.loads(run.out)
        assert len(rules) == RULES
        assert all(rule["kept"] for rule in rules)


def test_the_command_shows_the_traceback_of_the_code(clockhand: Clockhand, tmp_path: Path) -> None:
    saved(tmp_path, FIFO.replace("self.queue.append", "self.queue.add"))
    run = clockhand("check-policy", "mine.py:Fifo")
    assert run.code == 1
    assert "AttributeError: 'list' object has no attribute 'add'" in run.err
    assert 'mine.py", line 12, in loaded' in run.err
    assert run.err.endswith("policy mine.py:Fifo failed as is shown above; correct it there\n")


def test_what_cannot_be_checked_is_refused(clockhand: Clockhand) -> None:
    for policy, sentence in (
        ("min", "policy min must know the future, which these rules are not for"),
        ("bound", "bound is no policy but a bound"),
        ("crow", 'there is no policy "crow"; did you mean "craw"?'),
        ("none.py:Mine", "none.py cannot be read"),
    ):
        run = clockhand("check-policy", policy)
        assert (run.code, run.out) == (2, b""), policy
        assert sentence in run.err
