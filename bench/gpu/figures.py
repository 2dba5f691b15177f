"""The figures of this folder as one table: Talc's, the limits they are held to, and the peers'."""

# Figure: what it is, the limit in milliseconds, and the variant of Talc's that is held to it.
LIMITS = {
    "chain": ("pointwise chain, 64M elements", 0.156, "compiled"),
    "row_sum": ("row sum with producer, 8192x4096", 0.0437, "compiled"),
    "call": ("compiled call, 1,024 elements", 0.010, "compiled"),
    "branch": ("branch on a tensor", 0.020, "compiled"),
    "train": ("training step, 512-1024-512, batch 32, Adam", 0.150, "reduce-overhead"),
    "first_call cold": ("first call of the training step, nothing cached", 500.0, "cold"),
    "first_call warm": ("first call of the training step, kernels cached", 50.0, "warm"),
}
COLUMNS = ("eager", "compiled", "reduce-overhead", "torch eager", "torch compiled", "torch reduce-overhead", "jax")
HEADS = ("eager", "compiled", "replayed", "torch", "compile", "red.-ovh.", "jax")


def milliseconds(value):
    if value is None:
        return "-"
    if value < 0.1:
        return f"{value * 1000:.2f} us"
    return f"{value:.3f} ms" if value < 10 else f"{value:.0f} ms"


def table(rows):
    """Lines of the table of these rows (as the scripts print them), and how many limits are not kept."""
    found, errors = {}, []
    for row in rows:
        name = row.get("figure")
        if name is None:
            continue
        if name == "first_call":
            name += " " + row["variant"]
        if "error" in row:
            errors.append(f"{name}, {row['variant']}: {row['error']}")
        found.setdefault(name, {})[row["variant"]] = row.get("ms")
    lines = [f"{'':50}{'limit':>10} " + "".join(f"{head:>11}" for head in HEADS)]
    missed = 0
    for name, (title, limit, held) in LIMITS.items():
        values = found.get(name)
        if values is None:
            continue
        own = values.get(held)
        verdict = ""
        if own is not None:
            verdict = "kept" if own <= limit else f"MISSED by {own / limit:.2f}"
            missed += own > limit
        if name.startswith("first_call"):
            cells = f"{'':11}{milliseconds(own):>11}" + " " * 11 * (len(COLUMNS) - 2)
        else:
            cells = "".join(f"{milliseconds(values.get(column)):>11}" for column in COLUMNS)
        lines.append(f"{title:50}{milliseconds(limit):>10} {cells}  {verdict}".rstrip())
    return lines + errors, missed
