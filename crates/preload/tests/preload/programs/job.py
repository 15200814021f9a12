"""Builds large data, in threads, forked children and other processes, and prints what came of it."""

import hashlib
import mmap
import multiprocessing
import os
import subprocess
import sys
import threading


def digest_of(numbers):
    words = {f"word {number}": [number, str(number) * 3] for number in range(numbers)}
    text = "".join(word + values[1] for word, values in sorted(words.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def fill(results, index):
    array = bytearray(8 << 20)
    for position in range(0, len(array), 4096):
        array[position] = (position // 4096 * 31 + index) % 251
    results[index] = hashlib.sha256(array).hexdigest()


def in_threads():
    results = [None] * 4
    threads = [threading.Thread(target=fill, args=(results, index)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def in_forked_child(private):
    """The child changes what the parent keeps, and the other way round."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        before = hashlib.sha256(private).hexdigest()
        private[:] = b"c" * len(private)
        os.write(writing, (before + digest_of(2000) + hashlib.sha256(private).hexdigest()).encode())
        os._exit(7)
    private[: 1 << 20] = b"p" * (1 << 20)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said, os.waitstatus_to_exitcode(status), hashlib.sha256(private).hexdigest()


def square(number):
    return number * number, digest_of(number)


def main():
    print(digest_of(60_000))
    print(in_threads())
    grown = []
    for number in range(300_000):
        grown.append(number * number)
    print(sum(grown))
    private = bytearray(b"x" * (24 << 20))
    for _ in range(3):
        print(in_forked_child(private))
    with mmap.mmap(-1, 4 << 20) as shared:
        shared[:5] = b"hello"
        child = os.fork()
        if child == 0:
            shared[5:10] = b"child"
            os._exit(0)
        os.waitpid(child, 0)
        print(shared[:10])
    print(subprocess.run([sys.executable, "-S", "-c", "print(len(bytearray(1 << 24)))"], capture_output=True, check=True))
    print(subprocess.run("echo one two | tr a-z A-Z", shell=True, capture_output=True, check=True))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, range(0, 400, 50)))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
