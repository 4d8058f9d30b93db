"""State machines and automata."""
import itertools
import re

from problems.registry import numbers, problem


@problem("machine", "balanced brackets of three kinds", public=[14, 1, 2, 5, 3, 1, 4, 6, 4, 2, 3, 3, 6, 6, 5])
def brackets(run):
    text = "".join("([{)]}"[x - 1] for x in run.read(run.read()))
    while True:
        shorter = text.replace("()", "").replace("[]", "").replace("{}", "")
        if shorter == text:
            return [int(text == "")]
        text = shorter


_TEXTS = [b"-12.5e+3", b"7.", b"10e5"]


@problem("machine", "decimal numbers by a table of states",
         public=[len(_TEXTS)] + [x for t in _TEXTS for x in [len(t)] + list(t)])
def decimal_dfa(run):
    texts = [bytes(run.read(run.read())).decode() for _ in range(run.read())]
    return [int(re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", t) is not None) for t in texts]


@problem("machine", "cellular automaton 110 on a ring", public=[0b0000000000010001, 4])
def rule110(run):
    cells, n = run.read(2)
    cells, out = [cells >> i & 1 for i in range(16)], []
    becomes = {(1, 1, 1): 0, (1, 1, 0): 1, (1, 0, 1): 1, (1, 0, 0): 0, (0, 1, 1): 1, (0, 1, 0): 1, (0, 0, 1): 1, (0, 0, 0): 0}
    for _ in range(n):
        cells = [becomes[cells[(i + 1) % 16], cells[i], cells[i - 1]] for i in range(16)]
        out.append(sum(c << i for i, c in enumerate(cells)))
    return out


@problem("machine", "Conway's life on a small torus", public=[0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0])
def life(run):
    alive = {(i % 4, i // 4) for i, c in enumerate(run.read(16)) if c}
    out = []
    for y in range(4):
        for x in range(4):
            around = sum(((x + dx) % 4, (y + dy) % 4) in alive for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
            out.append(int(around == 3 or (around == 2 and (x, y) in alive)))
    return out


@problem("machine", "the busy beaver of three states")
def busy_beaver(run):
    rules = {("A", 0): (1, 1, "B"), ("A", 1): (1, 1, "H"), ("B", 0): (0, 1, "C"), ("B", 1): (1, 1, "B"),
             ("C", 0): (1, -1, "C"), ("C", 1): (1, -1, "A")}
    tape, head, state, steps = {}, 0, "A", 0
    while state != "H":
        tape[head], way, state = rules[state, tape.get(head, 0)]
        head += way
        steps += 1
    return [steps, sum(tape.values())]


@problem("machine", "transfers between accounts, revealed as events",
         public=[100, 50, 0, 75, 20, 0, 10, 5, 4, 0, 2, 60, 3, 5, 75, 2, 7, 30, 5, 1, 1])
def ledger(run):
    balances, out = run.read(8), []
    for _ in range(run.read()):
        source, target, amount = run.read(3)
        balances[source] -= amount
        balances[target] += amount
        out += [7, source, target, amount]
    assert min(balances) >= 0
    return out + balances


_TEXT = "Tržič € 🧜".encode()


@problem("machine", "UTF-8 decoded, variables in RAM", public=[len(_TEXT)] + list(_TEXT))
def utf8(run):
    return [ord(c) for c in bytes(run.read(run.read())).decode()]


@problem("machine", "tic-tac-toe by masks", public=[7, 4, 0, 2, 6, 3, 5, 8])
def tic_tac_toe(run):
    board = [0] * 9
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    moves = run.read(run.read())
    for k, cell in enumerate(moves):
        board[cell] = 1 + k % 2
        if any(board[a] == board[b] == board[c] != 0 for a, b, c in lines):
            return [1 + k % 2, k + 1]
    return [0, len(moves)]


@problem("machine", "a lift from floor to floor", public=[3, 4, 7, 1, 1, 5])
def elevator(run):
    floor, n = run.read(2)
    out, way = [], 0
    for target in run.read(n):
        step = 1 if target > floor else -1
        passed = list(range(floor + step, target + step, step)) if target != floor else []
        out += passed + [100]
        way += len(passed)
        floor = target
    return out + [way]


@problem("recursion", "Ackermann's function", public=[2, 3])
def ackermann(run):
    m, n = run.read(2)
    # Knuth's arrows: 2 with m - 2 arrows before n + 3, less 3
    return [[n + 1, n + 2, 2 * n + 3, 2**(n + 3) - 3][m]]


@problem("recursion", "towers of Hanoi", public=[4])
def hanoi(run):
    # The k-th move shifts the disc of k's lowest set bit; odd and even discs go round in opposite directions.
    n = run.read()
    pegs, out = [1] * n, []
    for k in range(1, 2**n):
        disc = (k & -k).bit_length() - 1
        step = 2 if (n - disc) % 2 else 1
        target = (pegs[disc] - 1 + step) % 3 + 1
        out.append(10 * pegs[disc] + target)
        pegs[disc] = target
    return out + [2**n - 1]


@problem("recursion", "a Fibonacci number by definition", public=[8])
def fibonacci_recursive(run):
    a, b = 0, 1
    for _ in range(run.read()):
        a, b = b, a + b
    return [a]


@problem("recursion", "Catalan numbers with memory", public=[6])
def catalan(run):
    out = [1]
    for n in range(run.read()):
        out.append(out[n] * 2 * (2 * n + 1) // (n + 2))
    return out


@problem("recursion", "ways to put queens on a board", public=[4])
def queens(run):
    n = run.read()
    count = 0
    for rows in itertools.permutations(range(n)):
        count += len({r + c for c, r in enumerate(rows)}) == n == len({r - c for c, r in enumerate(rows)})
    return [count]


@problem("recursion", "subsets with a given sum", public=[15, 7] + numbers("subset_sum", 7, 10))
def subset_sum(run):
    target, n = run.read(2)
    items = run.read(n)
    return [sum(sum(x for k, x in enumerate(items) if mask >> k & 1) == target for mask in range(2**n))]


_CODE = [1, 0, 1, 1, 1, 6, 1, 3, 1, 4, 0, 1, 3, 1, 3, 5, 1, 9, 8, 0, 0, 6, 0, 3, 7, 2, 3, 8, 2, 0, 0, 0, 0]


@problem("machine", "an interpreter of a small machine", public=[len(_CODE)] + _CODE)
def tiny_machine(run):
    code = run.read(run.read())
    program = [code[i:i + 3] for i in range(0, len(code), 3)]
    registers, memory, at, steps, out = [0] * 4, {}, 0, 0, []
    while True:
        op, a, b = program[at]
        at, steps = at + 1, steps + 1
        if op == 0:
            return out + [steps]
        value = [None, b, registers[a] + registers[b % 4], registers[a] - registers[b % 4], registers[a] * registers[b % 4]]
        if op < 5:
            registers[a] = value[op]
        elif op == 5 and registers[a]:
            at = b // 3
        elif op == 6:
            memory[registers[b]] = registers[a]
        elif op == 7:
            registers[a] = memory[registers[b]]
        elif op == 8:
            out.append(registers[a])


_CALLS = [[1, 1, 1000], [1, 2, 500], [3, 1, 3, 250], [4, 2, 5, 300], [5, 5, 2, 4, 120], [6], [7], [2, 3, 50], [5, 5, 2, 6, 180]]


@problem("contract", "calls on a token", public=[len(_CALLS)] + [x for c in _CALLS for x in c])
def token_contract(run):
    balances, allowed, out = [0] * 8, {}, []

    def move(source, target, amount):
        if source is not None:
            balances[source] -= amount
            assert balances[source] >= 0
        if target is not None:
            balances[target] += amount
    for _ in range(run.read()):
        op = run.read()
        if op < 3:
            who, amount = run.read(2)
            move(*((None, who) if op == 1 else (who, None)), amount)
            out += [op, who, amount]
        elif op == 3:
            source, target, amount = run.read(3)
            move(source, target, amount)
            out += [3, source, target, amount]
        elif op == 4:
            source, spender, amount = run.read(3)
            allowed[source, spender] = amount
            out += [4, source, spender, amount]
        elif op == 5:
            spender, source, target, amount = run.read(4)
            allowed[source, spender] -= amount
            assert allowed[source, spender] >= 0
            move(source, target, amount)
            out += [3, source, target, amount]
    return out + [sum(balances)] + balances


@problem("machine", "a 4 by 4 sudoku with a secret solution", public=[1, 0, 0, 4, 0, 0, 1, 0, 0, 1, 0, 0, 4, 0, 0, 1],
         secret=[1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1])
def sudoku_check(run):
    clues, cells = run.read(16), run.hint(16)
    groups = [[(i, j) for j in range(4)] for i in range(4)] + [[(j, i) for j in range(4)] for i in range(4)]
    groups += [[(y + i, x + j) for i in range(2) for j in range(2)] for y in (0, 2) for x in (0, 2)]
    solved = all(sorted(cells[4 * y + x] for y, x in g) == [1, 2, 3, 4] for g in groups)
    return [int(solved and all(c in (0, s) for c, s in zip(clues, cells)))]


@problem("machine", "a text expanded from back references, variables in RAM",
         public=[7] + [0, 97, 0, 98, 1, 2, 4, 0, 99, 1, 7, 5, 0, 33, 1, 1, 3])
def lz_expand(run):
    text = []
    for _ in range(run.read()):
        if run.read() == 0:
            text.append(run.read())
        else:
            distance, length = run.read(2)
            repeated = text[-distance:] * (length // distance + 1)
            text += repeated[:length]
    return text


@problem("machine", "cells that a knight reaches", public=[0, 3])
def knight_moves(run):
    start, n = run.read(2)
    reached, out = {divmod(start, 4)}, []
    steps = [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)]
    for _ in range(n):
        reached |= {(y + a, x + b) for y, x in reached for a, b in steps if 0 <= y + a < 4 and 0 <= x + b < 4}
        out.append(len(reached))
    return out


@problem("machine", "the states of a connection", public=[12, 1, 2, 3, 6, 0, 5, 3, 0, 4, 5, 6, 7])
def connection(run):
    closed, listening, sent, received, established, fin_wait, close_wait, last_ack, time_wait = range(9)
    opened, listen, syn, ack, syn_ack, close, fin, time_out = range(8)
    table = {(closed, opened): sent, (closed, listen): listening, (listening, syn): received, (listening, close): closed,
             (sent, syn_ack): established, (sent, syn): received, (sent, time_out): closed, (received, ack): established,
             (received, close): fin_wait, (established, close): fin_wait, (established, fin): close_wait,
             (fin_wait, fin): time_wait, (close_wait, close): last_ack, (last_ack, ack): closed, (time_wait, time_out): closed}
    state, out = closed, []
    for event in run.read(run.read()):
        state = table.get((state, event), state)
        out.append(state)
    return out


@problem("machine", "Luhn's check digit", public=[4, 5, 3, 9, 5, 7, 8, 7, 6, 3, 6, 2, 1, 4, 8, 6])
def luhn(run):
    digits = run.read(16)
    doubled = sum(sum(divmod(2 * d, 10)) for d in digits[::2])
    return [int((doubled + sum(digits[1::2])) % 10 == 0)]
