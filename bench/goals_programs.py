"""What Rubato asks of the programs of examples/, as goals.py of the rest."""

from goals import not_worse, verdict, worst

PROGRAMS = ("mergesort", "quicksort", "sieve", "matmul", "bvh")
LIFE = ("life", "lifebridged")


def program_goals(rows):
    names = list(dict.fromkeys(row["scenario"] for row in rows.rows if row["suite"] == "programs"))

    def each(kinds, judge):
        def judged(own, plain):
            for name in names:
                if name.split("-")[0] in kinds:
                    try:
                        yield name, judge(name, own, plain)
                    except LookupError:
                        pass
        return lambda own, plain: worst(judged(own, plain))

    def versus_rayon(name, own, _):
        return not_worse(rows.find(name, own), rows.find(name, "rayon"))

    def cpu_of_serial(name, own, plain):
        ratio = rows.find(name, own)["cpu_ns"] / rows.find(name, plain, 1)["cpu_ns"]
        return verdict(ratio <= 1.15, f"{ratio:.3g} x {plain}")

    return [
        ("programs of examples/", "not worse than rayon", each(PROGRAMS, versus_rayon)),
        ("Life at 60 Hz, a frame", "not worse than rayon", each(LIFE, versus_rayon)),
        ("Life at 60 Hz, CPU time", "<= 1.15 x serial", each(LIFE, cpu_of_serial)),
    ]
