"""Sorting and searching."""
import bisect

from problems.registry import numbers, problem

U32 = 2**32


@problem("sorting", "bubble sort, variables in RAM", public=[10] + numbers("bubble_sort", 10, U32))
def bubble_sort(run):
    return sorted(run.read(run.read()))


@problem("sorting", "insertion sort", public=[12] + numbers("insertion_sort", 12, 1000))
def insertion_sort(run):
    return sorted(run.read(run.read()))


@problem("sorting", "quicksort by recursion", public=[20] + numbers("quicksort", 20, 10000))
def quicksort(run):
    return sorted(run.read(run.read()))


@problem("sorting", "binary search for many keys",
         public=[40] + sorted(numbers("binary_search", 40, 1000)) + [8] + numbers("binary_search keys", 8, 1000))
def binary_search(run):
    table = run.read(run.read())
    return [bisect.bisect_left(table, key) for key in run.read(run.read())]


@problem("sorting", "counting sort of digits", public=[40] + numbers("counting_sort", 40, 16))
def counting_sort(run):
    return sorted(run.read(run.read()))


@problem("sorting", "heapsort", public=[12] + numbers("heap_sort", 12, U32))
def heap_sort(run):
    return sorted(run.read(run.read()))


@problem("sorting", "merge sort by recursion", public=[16] + numbers("merge_sort", 16, 5000))
def merge_sort(run):
    return sorted(run.read(run.read()))


@problem("sorting", "selection sort", public=[10] + numbers("selection_sort", 10, U32))
def selection_sort(run):
    return sorted(run.read(run.read()))


_LIST = numbers("permutation_check", 20, U32)


@problem("sorting", "a sorted list by hints, proved by products", public=[987654321987654321, 20] + _LIST, secret=sorted(_LIST))
def permutation_check(run):
    _, n = run.read(2)
    run.hint(n)
    return sorted(run.read(n))
