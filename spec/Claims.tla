------------------------------- MODULE Claims -------------------------------
(* Futures, claims and seats: docs/design/futures.md. Which thread runs work, which waiter gets its result, and   *)
(* that waiting never uses up the seats. How sleepers are called to seats is Seats.tla; here an idle thread may   *)
(* sit down whenever a seat is free and something is queued.                                                      *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Threads, Seats,   \* threads in all, spares included; how many may sit
  Work,
  Need,             \* what each work waits for before it ends: a function from Work to Work or None
  Late,             \* not queued at the beginning: a thread outside makes it ready
  Suspends,         \* coroutines: the first run ends in a suspension, which a thread outside ends
  Deepest,          \* so many claims may be nested on a stack
  a, b, c, None

\* What must be there. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  ClaimTakesReady,  \* a claim takes the ready bit away from the thread that pops the entry
  QueueHolds,       \* the first claim gives the queue a hold of its own
  OneEntry,         \* work that is offered while its entry is still queued gets no second one
  AddRechecks,         \* a thread that joins the waiters sees if the result is there already
  WaitVacates       \* a thread that waits leaves its seat

VARIABLES bits, queue, holds, done, runs, asleep, waiters, fired, pc, stack, sits
vars == <<bits, queue, holds, done, runs, asleep, waiters, fired, pc, stack, sits>>

\* Values of Need.
Chain == (a :> b) @@ (b :> c) @@ (c :> None)
Fan == (a :> c) @@ (b :> c) @@ (c :> None)

Needers(w) == {v \in Work : Need[v] = w}
Free == Seats - Cardinality({t \in Threads : sits[t]})
Top(t) == Head(stack[t])
Claimable(w) == {"queued", "ready"} \subseteq bits[w]

Init ==
  /\ bits = [w \in Work |-> IF w \in Late THEN {} ELSE {"queued", "ready"}]
  /\ queue = [w \in Work |-> IF w \in Late THEN 0 ELSE 1]      \* a bag: so many entries
  /\ holds = [w \in Work |-> 1 + Cardinality(Needers(w))]      \* the producer's, and each future's
  /\ done = [w \in Work |-> FALSE]
  /\ runs = [w \in Work |-> 0]
  /\ asleep = Late                                             \* waits for a thread outside
  /\ waiters = [w \in Work |-> {}]
  /\ fired = [t \in Threads |-> FALSE]
  /\ pc = [t \in Threads |-> "idle"]
  /\ stack = [t \in Threads |-> <<>>]
  /\ sits = [t \in Threads |-> FALSE]

Queued == \E w \in Work : queue[w] > 0

Sit(t) ==
  /\ pc[t] = "idle" /\ Free > 0 /\ Queued
  /\ pc' = [pc EXCEPT ![t] = "seated"]
  /\ sits' = [sits EXCEPT ![t] = TRUE]
  /\ UNCHANGED <<bits, queue, holds, done, runs, asleep, waiters, fired, stack>>

Rest(t) ==
  /\ pc[t] = "seated" /\ ~Queued
  /\ pc' = [pc EXCEPT ![t] = "idle"]
  /\ sits' = [sits EXCEPT ![t] = FALSE]
  /\ UNCHANGED <<bits, queue, holds, done, runs, asleep, waiters, fired, stack>>

Pop(t, w) ==
  /\ pc[t] = "seated" /\ queue[w] > 0
  /\ queue' = [queue EXCEPT ![w] = @ - 1]
  /\ bits' = [bits EXCEPT ![w] = {}]
  /\ holds' = [holds EXCEPT ![w] = IF "stale" \in bits[w] THEN @ - 1 ELSE @]
  /\ IF "ready" \in bits[w]
     THEN /\ stack' = [stack EXCEPT ![t] = <<w>>]
          /\ runs' = [runs EXCEPT ![w] = @ + 1]
          /\ pc' = [pc EXCEPT ![t] = "run"]
     ELSE UNCHANGED <<stack, runs, pc>>
  /\ UNCHANGED <<done, asleep, waiters, fired, sits>>

TakeOver(t, w) == \* the claim itself
  /\ bits' = [bits EXCEPT ![w] = IF ClaimTakesReady THEN {"queued", "stale"} ELSE @ \cup {"stale"}]
  /\ holds' = [holds EXCEPT ![w] = IF QueueHolds /\ "stale" \notin bits[w] THEN @ + 1 ELSE @]
  /\ stack' = [stack EXCEPT ![t] = <<w>> \o @]
  /\ runs' = [runs EXCEPT ![w] = @ + 1]
  /\ pc' = [pc EXCEPT ![t] = "run"]
  /\ UNCHANGED <<queue, done, asleep, waiters, fired, sits>>

MustWait(t) == pc[t] = "run" /\ Need[Top(t)] # None /\ ~done[Need[Top(t)]]

Claim(t) ==
  /\ MustWait(t) /\ Claimable(Need[Top(t)]) /\ Len(stack[t]) <= Deepest
  /\ TakeOver(t, Need[Top(t)])

GoToWait(t) ==
  /\ MustWait(t) /\ ~(Claimable(Need[Top(t)]) /\ Len(stack[t]) <= Deepest)
  /\ pc' = [pc EXCEPT ![t] = "adding"]
  /\ UNCHANGED <<bits, queue, holds, done, runs, asleep, waiters, fired, stack, sits>>

Add(t) ==
  LET w == Need[Top(t)] IN
  /\ pc[t] = "adding"
  /\ IF done[w] /\ AddRechecks
     THEN pc' = [pc EXCEPT ![t] = "run"] /\ UNCHANGED waiters
     ELSE pc' = [pc EXCEPT ![t] = "leaving"] /\ waiters' = [waiters EXCEPT ![w] = @ \cup {t}]
  /\ UNCHANGED <<bits, queue, holds, done, runs, asleep, fired, stack, sits>>

Leave(t) ==
  /\ pc[t] = "leaving"
  /\ sits' = [sits EXCEPT ![t] = @ /\ ~WaitVacates]
  /\ pc' = [pc EXCEPT ![t] = "parked"]
  /\ UNCHANGED <<bits, queue, holds, done, runs, asleep, waiters, fired, stack>>

\* With a seat if one is free, else at once without.
Return(t) ==
  /\ pc[t] = "parked" /\ fired[t]
  /\ fired' = [fired EXCEPT ![t] = FALSE]
  /\ sits' = [sits EXCEPT ![t] = @ \/ Free > 0]
  /\ pc' = [pc EXCEPT ![t] = "run"]
  /\ UNCHANGED <<bits, queue, holds, done, runs, asleep, waiters, stack>>

Finish(t) ==
  LET w == Top(t)
      rest == Tail(stack[t])
      suspends == w \in Suspends /\ runs[w] = 1
      told == IF suspends THEN {} ELSE waiters[w]
  IN
  /\ pc[t] = "run" /\ ~MustWait(t)
  /\ stack' = [stack EXCEPT ![t] = rest]
  /\ fired' = [u \in Threads |-> fired[u] \/ u \in told]
  /\ IF suspends
     THEN asleep' = asleep \cup {w} /\ UNCHANGED <<done, holds, waiters>>
     ELSE /\ done' = [done EXCEPT ![w] = TRUE]
          /\ holds' = [v \in Work |-> holds[v] - (IF v = w THEN 1 ELSE 0) - (IF v = Need[w] THEN 1 ELSE 0)]
          /\ waiters' = [waiters EXCEPT ![w] = {}]
          /\ UNCHANGED asleep
  /\ pc' = [pc EXCEPT ![t] =
       IF rest # <<>> THEN "run" ELSE IF sits[t] THEN "seated" ELSE "idle"]
  /\ UNCHANGED <<bits, queue, runs, sits>>

\* A thread outside.
Offer(w) ==
  /\ w \in asleep
  /\ asleep' = asleep \ {w}
  /\ bits' = [bits EXCEPT ![w] = @ \cup {"queued", "ready"}]
  /\ queue' = [queue EXCEPT ![w] = IF "queued" \in bits[w] /\ OneEntry THEN @ ELSE @ + 1]
  /\ UNCHANGED <<holds, done, runs, waiters, fired, pc, stack, sits>>

Over == (\A w \in Work : done[w]) /\ (\A t \in Threads : pc[t] = "idle") /\ ~Queued

Step(t) ==
  \/ Sit(t) \/ Rest(t) \/ Claim(t) \/ GoToWait(t) \/ Add(t) \/ Leave(t) \/ Return(t) \/ Finish(t)
  \/ \E w \in Work : Pop(t, w)
Next == (\E t \in Threads : Step(t)) \/ (\E w \in Work : Offer(w)) \/ (Over /\ UNCHANGED vars)
Spec == Init /\ [][Next]_vars /\ (\A t \in Threads : WF_vars(Step(t))) /\ (\A w \in Work : WF_vars(Offer(w)))

\* ---- What must hold
Running(t) == {stack[t][i] : i \in 1..Len(stack[t])}
OneRun ==
  /\ \A w \in Work : runs[w] <= (IF w \in Suspends THEN 2 ELSE 1)
  /\ \A t, u \in Threads : t # u => Running(t) \cap Running(u) = {}
Alive ==
  /\ \A w \in Work : queue[w] > 0 => holds[w] > 0
  /\ \A t \in Threads : \A w \in Running(t) : holds[w] > 0 /\ (Need[w] # None => holds[Need[w]] > 0)
Bounded == \A t \in Threads : Len(stack[t]) <= Deepest + 1
Seated == Free \in 0..Seats
Freed == Over => \A w \in Work : holds[w] = 0
Finished == <>[]Over

Symmetry == Permutations(Threads)
=============================================================================
