"""Structures in RAM and dynamic programming."""
import collections
import functools

from problems.registry import numbers, problem


@problem("machine", "a calculator in reverse Polish notation",
         public=[13, 0, 3, 0, 4, 1, 4, 3, 0, 10, 2, 0, 7, 3])
def rpn(run):
    words, stack = collections.deque(run.read(run.read())), []
    while words:
        op = words.popleft()
        if op == 0:
            stack.append(words.popleft())
        elif op == 4:
            stack.append(stack[-1])
        else:
            b, a = stack.pop(), stack.pop()
            stack.append({1: a + b, 2: a - b, 3: a * b}[op])
    return stack


@problem("structure", "breadth-first search with a queue", public=[6, 24, 8, 16, 32, 64, 2, 1, 0])
def bfs(run):
    masks, start = run.read(8), run.read()
    reached, distance = {start}, [99] * 8
    for steps in range(8):
        for node in reached:
            distance[node] = min(distance[node], steps)
        reached |= {j for i in reached for j in range(8) if masks[i] >> j & 1}
    return distance


@problem("structure", "union-find", public=[12, 10, 0, 1, 2, 3, 1, 3, 0, 2, 4, 5, 6, 7, 5, 7, 4, 6, 8, 9, 3, 9])
def union_find(run):
    n, m = run.read(2)
    sets, out = [{i} for i in range(n)], []
    for _ in range(m):
        a, b = (next(s for s in sets if x in s) for x in run.read(2))
        out.append(int(a is not b))
        if a is not b:
            sets.remove(b)
            a |= b
    return out + [len(sets)]


@problem("structure", "a sorted linked list", public=[10] + numbers("linked_list", 10, 1000))
def linked_list(run):
    return sorted(run.read(run.read()))


_WORDS = [17, 99, 17, 4, 1000, 99, 17, 31337, 4, 65535, 7, 7]


@problem("structure", "counts in a table with open addressing", public=[12] + _WORDS + [5, 17, 99, 5, 7, 4])
def hash_table(run):
    counts = collections.Counter(run.read(run.read()))
    return [counts[q] for q in run.read(run.read())]


@problem("structure", "a binary search tree, walked by recursion", public=[14, 50, 20, 80, 10, 30, 70, 90, 5, 15, 25, 35, 65, 75, 85])
def search_tree(run):
    return sorted(run.read(run.read()))


@problem("structure", "moving averages in a ring buffer", public=[24] + numbers("moving_average", 24, 10000))
def moving_average(run):
    stream = run.read(run.read())
    return [sum(stream[max(0, i - 3):i + 1]) // 4 for i in range(len(stream))]


@problem("dynamic", "0-1 knapsack", public=[12, 5, 3, 40, 5, 60, 4, 55, 7, 90, 2, 15])
def knapsack(run):
    capacity, n = run.read(2)
    items = [run.read(2) for _ in range(n)]
    values = [sum(v for k, (_, v) in enumerate(items) if mask >> k & 1) for mask in range(2**n)
              if sum(w for k, (w, _) in enumerate(items) if mask >> k & 1) <= capacity]
    return [max(values)]


@problem("dynamic", "Levenshtein's distance", public=[6] + list(b"kitten") + [7] + list(b"sitting"))
def edit_distance(run):
    a, b = run.read(run.read()), run.read(run.read())

    @functools.cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
    return [distance(len(a), len(b))]


@problem("dynamic", "shortest ways between all nodes", public=[0, 5, 999, 10, 999, 0, 3, 999, 999, 999, 0, 1, 2, 999, 999, 0])
def floyd_warshall(run):
    length = run.read(16)

    def shortest(i, j, steps):
        if i == j:
            return 0
        if steps == 0:
            return 999
        return min(length[4 * i + k] + shortest(k, j, steps - 1) for k in range(4) if k != i)
    return [min(999, shortest(i, j, 3)) for i in range(4) for j in range(4)]
