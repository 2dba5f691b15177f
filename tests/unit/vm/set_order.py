"""Computes with CPython 3.11 the digests that set_test.cpp expects."""


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state // 8 % n


def digest(items):
    total = 7
    for x in items:
        total = (total * 31 + x + 1000003) % 1000000007
    return total


def history(seed):
    random = Random(seed)
    a = set()
    b = set()
    size = [12, 100, 5000, 1 << 30][seed % 4]
    total = 0
    for _ in range(150):
        what = random.below(14)
        key = random.below(size) - size // 3
        if what < 6:
            a.add(key)
        elif what < 8:
            b.add(key)
        elif what == 8:
            a.discard(key)
        elif what == 9:
            if a:
                total = (total + a.pop()) % 1000000007
        elif what == 10:
            for s in (a | b, a - b, a & b, a ^ b):
                total = (total * 3 + digest(s)) % 1000000007
        elif what == 11:
            if random.below(4) == 0:
                a -= b
            if random.below(4) == 0:
                b &= a
        elif what == 12:
            if random.below(3) == 0:
                a |= b
            if random.below(3) == 0:
                b ^= a
        else:
            a = a.copy()
        total = (total * 5 + digest(a) + digest(b)) % 1000000007
    return total


if __name__ == "__main__":
    total = 0
    for seed in range(1, 201):
        total = (total * 7 + history(seed)) % 1000000007
    print(total)
    print({9, 1, 33, 4, 17})
    print(hash(frozenset([9, 1, 33, 4, 17])))
