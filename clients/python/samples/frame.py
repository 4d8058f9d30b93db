"""A small data frame, as pandas has it: columns of one length, `eval` for new columns and `query` for rows. Every expression
is one kernel over whole columns, and answers have one set of bits, whoever computes them. Run it: it checks itself by NumPy."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import trident  # noqa: E402


class Frame:
    """Columns by name. An expression may use the names of columns and, after an @, variables of the caller's."""

    def __init__(self, **columns):
        self.columns = {name: np.asarray(column) for name, column in columns.items()}
        lengths = {len(column) for column in self.columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns have different lengths: {sorted(lengths)}")

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values()), ()))

    def evaluate(self, text, **variables):
        unknown = set(variables) & set(self.columns)
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))}: a column and a variable")
        return trident.evaluate(text.replace("@", ""), {**self.columns, **variables}, {})

    def eval(self, assignment, **variables):
        """Returns a frame with one more column: `name = expression`."""
        name, _, text = assignment.partition("=")
        return Frame(**{**self.columns, name.strip(): self.evaluate(text, **variables)})

    def query(self, condition, **variables):
        """Returns the rows for which the condition is true."""
        chosen = self.evaluate(condition, **variables)
        return Frame(**{name: column[chosen] for name, column in self.columns.items()})


def main():
    random = np.random.default_rng(1)
    sales = Frame(price=random.uniform(1, 100, 100_000), units=random.integers(1, 50, 100_000))
    priced = sales.eval("revenue = price * units").eval("after_tax = revenue * (1 - @rate)", rate=0.19)
    large = priced.query("(revenue > @least) & (units < 40)", least=2000.0)

    price, units = sales["price"], sales["units"]
    expected = (price * units > 2000.0) & (units < 40)
    np.testing.assert_array_equal(priced["after_tax"], price * units * (1 - 0.19))
    np.testing.assert_array_equal(large["price"], price[expected])
    print(f"{len(large)} of {len(sales)} sales are large; revenue after tax {large['after_tax'].sum():.2f}")


if __name__ == "__main__":
    main()
