"""Runtimes that reserve memory first and commit parts of it later, in a fraction of it.

Programs that are not installed are skipped, with the reason.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clockhand import _engine
from conftest import Clockhand, needed

OBSTACLE = _engine.pager_obstacle()
pytestmark = pytest.mark.skipif(
    OBSTACLE is not None, reason=f"no program was run under the pager: {OBSTACLE}"
)

NODE = """
const map = new Map(); let sum = 0;
for (let i = 0; i < 60000; i++) map.set("key" + (i * 7919 % 20011), "value" + i);
for (const [key, value] of map)
  for (const letter of key + value) sum = (sum * 31 + letter.charCodeAt(0)) | 0;
console.log(map.size, sum);
"""
JAVA = """
import java.util.*;
public class Main {
    public static void main(String[] arguments) {
        Map<String, String> map = new HashMap<>();
        for (int i = 0; i < 60000; i++) map.put("key" + (i * 7919L % 20011), "value" + i);
        int sum = 0;
        for (var entry : new TreeMap<>(map).entrySet())
            sum = sum * 31 + (entry.getKey() + entry.getValue()).hashCode();
        System.out.println(map.size() + " " + sum);
    }
}
"""
GO = """
package main
// #include <stdlib.h>
import "C"
import "fmt"
func main() {
	C.free(C.malloc(1))
	table, sum := map[int][]byte{}, 0
	for i := 0; i < 60000; i++ {
		table[i * 7919 % 20011] = append([]byte("value"), byte(i), byte(i >> 8))
	}
	for key, value := range table {
		for _, letter := range value { sum += key * int(letter) % 1009 }
	}
	fmt.Println(len(table), sum)
}
"""


STATIC_GO = """
package main
import "fmt"
func main() {
	fmt.Println("done")
}
"""
STATIC_C = """
#include <stdio.h>
#include <unistd.h>
int main(void) { puts("done"); fflush(stdout); sleep(1); }
"""


def static_program(name: str, folder: Path) -> Path:
    """Return a program into which no library can be preloaded."""
    built = folder / "static"
    source = folder / {"go": "static.go", "c": "static.c"}[name]
    source.write_text({"go": STATIC_GO, "c": STATIC_C}[name])
    compile_go = ["go", "build", "-o", str(built), str(source)]
    command = {"go": compile_go, "c": ["cc", "-static", "-o", str(built), str(source)]}[name]
    compiler = needed(command[0])
    done = subprocess.run(
        [compiler, *command[1:]],
        cwd=folder,
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
    )
    if done.returncode != 0:
        pytest.skip(f"no static program is built here: {done.stderr.decode()}")
    return built


def program(name: str, folder: Path) -> list[str]:
    """Return a command that prints a line, made where its language is compiled."""
    tools = {"node": ["node"], "java": ["javac", "java"], "go": ["go", "cc"]}[name]
    found = {tool: shutil.which(tool) for tool in tools}
    if None in found.values():
        pytest.skip(f"{' and '.join(tools)} are needed, so that {name} was not run under the pager")
    source = folder / {"node": "main.js", "java": "Main.java", "go": "main.go"}[name]
    source.write_text({"node": NODE, "java": JAVA, "go": GO}[name])
    if name == "node":
        return ["node", str(source)]
    if name == "java":
        subprocess.run(["javac", source], check=True)
        return ["java", "-Xmx64m", "-cp", str(folder), "Main"]
    built = folder / "main"
    done = subprocess.run(["go", "build", "-o", built, source], cwd=folder, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"go does not build programs with C here: {done.stderr.decode()}")
    return [str(built)]


MEMORY = {"node": "8MiB", "java": "8MiB", "go": "2MiB"}


# Once they had all their memory, and the table said "0 misses".
@pytest.mark.parametrize(
    ("name", "bits"),
    [("node", "sensed"), ("node", "mapped"), ("java", "sensed"), ("go", "sensed")],
)
def test_runtimes_that_reserve_memory_are_paged_and_print_the_same(
    clockhand: Clockhand, tmp_path: Path, name: str, bits: str
) -> None:
    command = program(name, tmp_path)
    plain = subprocess.run(command, capture_output=True)
    assert plain.returncode == 0, plain.stderr
    options = ["--memory", MEMORY[name], "--bits", bits, "--swap-in-ram", "--out", "rows.json"]
    run = clockhand("run", "--policy", "clock", *options, "--quiet", "--", *command)
    assert (run.code, run.out) == (0, plain.stdout), run.err
    # Java maps its archive of classes over reserved memory, which is not paged then.
    assert ("in memory that was not paged" in run.err) == (name == "java"), run.err
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row["misses"] > row["frames"] and row["pages_written"] > 100
    assert row["unpaged_bytes"] < row["footprint_pages"] * row["page_bytes"]


@pytest.mark.parametrize("name", ["go", "c"])
def test_a_static_program_is_refused_before_it_starts(
    clockhand: Clockhand, tmp_path: Path, name: str
) -> None:
    built = static_program(name, tmp_path)
    options = ["--memory", "8MiB", "--swap-in-ram", "--out", "rows.json"]
    run = clockhand("run", "--policy", "clock", *options, "--", str(built))
    assert (run.code, run.out) == (2, b"") and not (tmp_path / "rows.json").exists()
    assert run.err.strip() == (
        f"clockhand: {built}: it is linked statically, so that no library can be preloaded into "
        "it; link it with the C library as a shared one (a Go program: build it with cgo)"
    )


@pytest.mark.parametrize("script", ["exec {}", "{}; true"])
def test_a_static_program_that_another_one_starts_runs_unpaged_and_is_named(
    clockhand: Clockhand, tmp_path: Path, script: str
) -> None:
    built = static_program("c", tmp_path)
    options = ["--memory", "8MiB", "--swap-in-ram", "--quiet"]
    command = ["sh", "-c", script.format(built)]
    run = clockhand("run", "--policy", "clock", *options, "--", *command)
    assert (run.code, run.out) == (0, b"done\n"), run.err
    assert run.err.count("is not paged: the library is not loaded into it") == 1, run.err
    assert "clockhand: static (process " in run.err
