------------------------------ MODULE Siblings ------------------------------
(* Tasks that a coroutine forks and awaits together: docs/design/coroutines.md. Who runs each, when the frames    *)
(* that they refer to may go, and that the coroutine goes on. The chain itself is in Seats.tla: here a latent     *)
(* sibling is taken or popped in one step, the oldest and the newest.                                             *)
EXTENDS Integers, FiniteSets

CONSTANTS
  N,              \* siblings 1..N, the newest is 1; beside them one that runs in place first and may be suspended
  Ends            \* the pool may end at any time, and discard the coroutine or break its wait off

\* What must be there. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  FlushFirst,     \* what is latent is queued before anybody can resume the coroutine
  CountsTaken,    \* and what was taken is counted then too
  Refuses,        \* a wait is not broken off while children refer to the frames
  DropWaits,      \* nor is a coroutine discarded that is ready
  LeftFirst,      \* who ends leaves the group first, then the coroutine's count
  Holds,          \* and holds the coroutine meanwhile
  OnceDropped     \* a count that has led to the drop never does so again

VARIABLES
  where,    \* of each sibling: chain, held by a thief, queue, runs, here, left the group, over
  co,       \* the coroutine: runs, flushing, suspended, ready, waits, awaits, gone
  known,    \* it knows that its siblings are not in the chain any more
  stayed,   \* how many have run in place
  left,     \* that have not ended, and one for the coroutine
  children, \* that refer to its frames, as far as it has counted them
  pending,  \* it is to be dropped when they have ended
  stray,    \* a stop request that is still on its way through a scope: will count itself, and end
  drops,    \* how often the frames were destroyed
  touched   \* something was used after it had gone
vars == <<where, co, known, stayed, left, children, pending, stray, drops, touched>>

S == 1..N
In(w) == {s \in S : where[s] \in w}
Away == {"held", "queue", "runs", "left"}
FramesGone == co = "gone"
\* The activity is freed when the coroutine has ended and nobody holds it.
ActivityGone == co = "gone" /\ (~Holds \/ In({"runs", "left"}) = {})

Init ==
  /\ where = [s \in S |-> "chain"]
  /\ co = "runs" /\ known = FALSE /\ stayed = 0 /\ left = N + 1 /\ children = 0
  /\ pending = FALSE /\ stray = "none" /\ drops = 0 /\ touched = FALSE

Gone == co' = "gone" /\ drops' = drops + 1

\* A thief takes the oldest, and begins it later.
Take(s) ==
  /\ where[s] = "chain" /\ \A t \in S : where[t] = "chain" => t <= s
  /\ where' = [where EXCEPT ![s] = "held"]
  /\ UNCHANGED <<co, known, stayed, left, children, pending, stray, drops, touched>>
Begin(s) ==
  /\ where[s] \in {"held", "queue"}
  /\ where' = [where EXCEPT ![s] = "runs"]
  /\ touched' = (touched \/ FramesGone)
  /\ UNCHANGED <<co, known, stayed, left, children, pending, stray, drops>>

\* The end of one that was away, in two steps: the group's count and the coroutine's.
Leave ==
  /\ left' = left - 1
  /\ co' = IF left = 1 /\ co = "waits" THEN "awaited" ELSE co
Count ==
  /\ children' = children - 1
  /\ IF pending /\ children = 1 THEN Gone /\ pending' = ~OnceDropped ELSE UNCHANGED <<co, drops, pending>>
EndFirst(s) ==
  /\ where[s] = "runs"
  /\ where' = [where EXCEPT ![s] = "left"]
  /\ IF LeftFirst
     THEN Leave /\ touched' = (touched \/ FramesGone) /\ UNCHANGED <<children, pending, drops>>
     ELSE Count /\ touched' = (touched \/ ActivityGone) /\ UNCHANGED left
  /\ UNCHANGED <<known, stayed, stray>>
EndSecond(s) ==
  /\ where[s] = "left"
  /\ where' = [where EXCEPT ![s] = "over"]
  /\ IF LeftFirst
     THEN Count /\ touched' = (touched \/ ActivityGone) /\ UNCHANGED left
     ELSE Leave /\ touched' = (touched \/ FramesGone) /\ UNCHANGED <<children, pending, drops>>
  /\ UNCHANGED <<known, stayed, stray>>

\* The coroutine is about to be suspended: queues the rest, and counts all that it does not run itself.
Flush(next) ==
  /\ where' = [s \in S |-> IF where[s] = "chain" THEN "queue" ELSE where[s]]
  /\ children' = children + (IF CountsTaken THEN N - stayed ELSE Cardinality(In({"chain"})))
  /\ known' = TRUE
  /\ co' = next
  /\ UNCHANGED <<stayed, left, pending, stray, drops, touched>>
\* Once: after that it has nothing in the chain.
Suspend ==
  /\ co = "runs" /\ ~known
  /\ IF FlushFirst THEN Flush("suspended")
     ELSE co' = "suspended" /\ UNCHANGED <<where, known, stayed, left, children, pending, stray, drops, touched>>
LateFlush == ~FlushFirst /\ ~known /\ co \in {"suspended", "ready"} /\ Flush(co)
Resume ==
  /\ co = "suspended" /\ co' = "ready"
  /\ UNCHANGED <<where, known, stayed, left, children, pending, stray, drops, touched>>
GoOn ==
  /\ co = "ready" /\ ~pending /\ co' = "runs"
  /\ UNCHANGED <<where, known, stayed, left, children, pending, stray, drops, touched>>

\* The next in place, if it is still there; it ends at once.
Pop(s) ==
  /\ co = "runs" /\ ~known /\ where[s] = "chain" /\ \A t \in S : where[t] = "chain" => s <= t
  /\ where' = [where EXCEPT ![s] = "over"]
  /\ stayed' = stayed + 1
  /\ UNCHANGED <<co, known, left, children, pending, stray, drops, touched>>
Missed ==
  /\ co = "runs" /\ ~known /\ In({"chain"}) = {} /\ stayed < N
  /\ known' = TRUE
  /\ children' = children + (N - stayed)
  /\ UNCHANGED <<where, co, stayed, left, pending, stray, drops, touched>>
Rest ==
  /\ co = "runs" /\ (known \/ stayed = N)
  /\ left' = left - 1 - stayed
  /\ co' = IF left' = 0 THEN "awaited" ELSE "waits"
  /\ UNCHANGED <<where, known, stayed, children, pending, stray, drops, touched>>
Finish ==
  /\ co = "awaited" /\ ~pending /\ Gone
  /\ UNCHANGED <<where, known, stayed, left, children, pending, stray, touched>>

\* The pool ends. What waits for the world outside is broken off; what is ready is discarded.
Withdraw ==
  /\ Ends /\ co = "suspended" /\ (known \/ ~FlushFirst)
  /\ ~Refuses \/ children = 0
  /\ Gone
  /\ UNCHANGED <<where, known, stayed, left, children, pending, stray, touched>>
Discard ==
  /\ Ends /\ co \in {"ready", "awaited"} /\ ~pending
  /\ IF DropWaits /\ children > 0
     THEN pending' = TRUE /\ stray' = "coming" /\ UNCHANGED <<co, drops>>
     ELSE Gone /\ UNCHANGED <<pending, stray>>
  /\ UNCHANGED <<where, known, stayed, left, children, touched>>
\* The stop request of the discard: it is waited for before the frames are freed.
StrayBegins ==
  /\ stray = "coming" /\ stray' = "counted" /\ children' = children + 1
  /\ UNCHANGED <<where, co, known, stayed, left, pending, drops, touched>>
StrayEnds ==
  /\ stray = "counted" /\ stray' = "none" /\ Count
  /\ UNCHANGED <<where, known, stayed, left, touched>>

Done ==
  /\ co = "gone" /\ In(Away) = {} /\ stray = "none"
  /\ UNCHANGED vars

Next ==
  \/ Suspend \/ LateFlush \/ Resume \/ GoOn \/ Missed \/ Rest \/ Finish
  \/ Withdraw \/ Discard \/ StrayBegins \/ StrayEnds \/ Done
  \/ \E s \in S : Take(s) \/ Begin(s) \/ EndFirst(s) \/ EndSecond(s) \/ Pop(s)

Fair ==
  /\ WF_vars(Resume) /\ WF_vars(GoOn) /\ WF_vars(Missed) /\ WF_vars(Rest) /\ WF_vars(Finish)
  /\ WF_vars(StrayBegins) /\ WF_vars(StrayEnds)
  /\ \A s \in S : WF_vars(Begin(s)) /\ WF_vars(EndFirst(s)) /\ WF_vars(EndSecond(s)) /\ WF_vars(Pop(s))
Spec == Init /\ [][Next]_vars /\ Fair

\* A place in the chain belongs to a stack; it must not be there when the coroutine can be resumed elsewhere.
NothingLatentBehind == co \in {"suspended", "ready", "waits"} => In({"chain"}) = {}
NothingTouched == ~touched
DroppedOnce == drops <= 1
\* Nobody is told too early.
AllThere == co = "awaited" => In({"chain", "held", "queue", "runs"}) = {}
Finished == <>(co = "gone")
=============================================================================
