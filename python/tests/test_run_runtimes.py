"""Runtimes that reserve memory first and commit parts of it later, in a fraction of it.

Programs that are not installed are skipped, with the reason.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
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


# Goroutines, collections that interrupt loops, signals, children, and an error that is caught.
STATIC_GO = """
package main
import ("fmt"; "os"; "os/exec"; "os/signal"; "runtime"; "sync"; "syscall")
type node struct { left, right *node; value int }
func tree(depth, value int) *node {
	if depth == 0 { return &node{value: value} }
	return &node{tree(depth-1, 2*value), tree(depth-1, 2*value+1), value}
}
func (n *node) sum() int {
	if n == nil { return 0 }
	return n.value + n.left.sum() + n.right.sum()
}
func main() {
	var group sync.WaitGroup
	sums := make([]int, 4)
	for index := range sums {
		group.Add(1)
		go func(index int) {
			defer group.Done()
			for turn := 0; turn < 3; turn++ { sums[index] += tree(13, index).sum() }
		}(index)
	}
	busy := make(chan int)
	go func() { x := 0; for i := 0; i < 100000000; i++ { x += i & 3 }; busy <- x }()
	runtime.GC()
	group.Wait()
	fmt.Println(sums, <-busy)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	own, err := os.Executable()
	fmt.Println(<-signals, own, err, len(os.Args), os.Getenv("CLOCKHAND_STATIC"))
	if len(os.Args) == 1 {
		output, err := exec.Command(own, "again").CombinedOutput()
		fmt.Printf("%s %v\\n", output, err)
	}
	defer func() { fmt.Println(recover()) }()
	var none *node
	fmt.Println(none.value)
}
"""
STATIC_C = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int words, char **arguments) {
    unsigned count = 4 << 20, sum = 0, *numbers = malloc(count * sizeof *numbers);
    for (unsigned i = 0; i < count; i++) numbers[i] = i * 2654435761u;
    if (fork() == 0) { for (unsigned i = 0; i < count; i += 1024) numbers[i] = 0; _exit(0); }
    wait(NULL);
    for (unsigned i = 0; i < count; i++) sum ^= numbers[i] >> 3;
    char path[4096] = {0};
    printf("%u %zd %s", sum, readlink("/proc/self/exe", path, sizeof path - 1), path);
    for (int word = 0; word < words; word++) printf(" <%s>", arguments[word]);
    puts("");
}
"""
# Has memory at its peak for a moment, and most of it no longer when it is looked at again.
HOLD_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
int main(void) {
    char *memory = malloc(24 << 20);
    memset(memory, 1, 24 << 20);
    printf("held %d MiB, secure %lu\\n", memory[5] * 24, getauxval(AT_SECURE));
    fflush(stdout);
    free(memory);
    sleep(1);
}
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
@pytest.mark.parametrize("name", MEMORY)
def test_runtimes_that_reserve_memory_are_paged_and_print_the_same(
    clockhand: Clockhand, tmp_path: Path, name: str
) -> None:
    command = program(name, tmp_path)
    plain = subprocess.run(command, capture_output=True)
    assert plain.returncode == 0, plain.stderr
    options = ["--memory", MEMORY[name], "--swap-in-ram", "--out", "rows.json"]
    run = clockhand("run", "--policy", "clock", *options, "--quiet", "--", *command)
    assert (run.code, run.out) == (0, plain.stdout), run.err
    # Java maps its archive of classes over reserved memory, which is not paged then.
    assert ("in memory that was not paged" in run.err) == (name == "java"), run.err
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row["misses"] > row["frames"] and row["pages_written"] > 100
    assert row["unpaged_bytes"] < row["footprint_pages"] * row["page_bytes"]


# Once they were refused, and ran unpaged if another program started them. More ways: `hosted.rs`.
@pytest.mark.parametrize(("name", "script"), [("go", None), ("c", "exec {}"), ("c", "{}; true")])
def test_static_programs_are_paged_and_print_the_same(
    clockhand: Clockhand, tmp_path: Path, name: str, script: str | None
) -> None:
    built = static_program(name, tmp_path)
    command = [str(built)] if script is None else ["sh", "-c", script.format(built)]
    plain = subprocess.run(command, capture_output=True)
    assert plain.returncode == 0, plain.stderr
    options = ["--memory", "2MiB", "--swap-in-ram", "--out", "rows.json", "--quiet"]
    run = clockhand("run", "--policy", "clock", *options, "--", *command)
    assert (run.code, run.out, run.err) == (0, plain.stdout, "")
    rows = [
        row for row in json.loads((tmp_path / "rows.json").read_text()) if row["name"] == "static"
    ]
    # Go starts itself again, and C forks.
    assert len(rows) == 2
    for row in rows:
        assert row["misses"] > row["frames"] and row["pages_written"] > 100
        assert row["unpaged_bytes"] < 2 * 2**20


# Once a script was refused whose program is static.
def test_scripts_of_static_programs_are_paged(clockhand: Clockhand, tmp_path: Path) -> None:
    built = static_program("c", tmp_path)
    scripts = {"script": f"#! {built} one argument\n", "nested": f"#!{tmp_path}/script\n"}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    nested = str(tmp_path / "nested")
    command = [nested, "more"]
    plain = subprocess.run(command, capture_output=True)
    assert plain.returncode == 0, plain.stderr
    assert f"<one argument> <{tmp_path}/script> <{nested}> <more>".encode() in plain.stdout
    options = ["--memory", "2MiB", "--swap-in-ram", "--out", "rows.json", "--quiet"]
    run = clockhand("run", "--policy", "clock", *options, "--", *command)
    assert (run.code, run.out, run.err) == (0, plain.stdout, "")
    rows = json.loads((tmp_path / "rows.json").read_text())
    named = [row for row in rows if row["name"] == "nested"]
    assert len(named) == 2
    assert all(row["misses"] > row["frames"] and row["unpaged_bytes"] < 2**21 for row in named)


def without_variables(folder: Path) -> str:
    """Return what starts a static program without the variables of the pager."""
    return f"env -i {compiled_to_hold(folder, '-static')}"


def with_rights(folder: Path) -> str:
    """Return a program with the rights of another group."""
    if os.geteuid() != 0:
        pytest.skip("only root gives a program rights of its own")
    built = compiled_to_hold(folder)
    os.chown(built, -1, 65534)
    built.chmod(0o2755)
    if b"secure 1" not in subprocess.run(built, capture_output=True).stdout:
        pytest.skip("the file system gives programs no rights")
    return str(built)


def compiled_to_hold(folder: Path, *options: str) -> Path:
    (folder / "hold.c").write_text(HOLD_C)
    command = [needed("cc"), *options, "-o", str(folder / "hold"), str(folder / "hold.c")]
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"the program is not built here: {done.stderr.decode()}")
    return folder / "hold"


# Once the row said nothing of its memory.
@pytest.mark.parametrize(
    ("made", "why", "line"),
    [
        (without_variables, "it is linked statically", "exec {}"),
        (with_rights, "it has rights of its own", "{}; true"),
    ],
)
def test_memory_of_programs_that_are_not_paged_is_counted_where_they_were_started(
    clockhand: Clockhand, tmp_path: Path, made: Callable[[Path], str], why: str, line: str
) -> None:
    command = ["sh", "-c", line.format(made(tmp_path))]
    options = ["--memory", "8MiB", "--swap-in-ram", "--quiet", "--out", "rows.json"]
    run = clockhand("run", "--policy", "clock", *options, "--", *command)
    assert run.code == 0 and run.out.startswith(b"held 24 MiB"), run.err
    named, held, sentence = run.err.splitlines()
    assert named.startswith("clockhand: hold (process "), run.err
    assert f"is not paged: the library is not loaded into it, because {why}" in named
    assert held.startswith("clockhand: hold had 2"), run.err
    assert held.endswith(
        " in memory that was not paged; unpaged_bytes of who started them has it too"
    )
    assert " in memory that was not paged, beside " in sentence
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert "hold" not in [row["name"] for row in rows]
    # The kernel counts pages of each processor in groups.
    assert 23 << 20 <= max(row["unpaged_bytes"] for row in rows) < 27 << 20
