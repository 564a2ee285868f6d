------------------------------ MODULE ForkGroup -----------------------------
(* Tasks that a coroutine forks and awaits together, the members of a fork group: docs/design/coroutines.md.      *)
(* Which thread runs each member, when the frames may be destroyed, and that the coroutine goes on. The chain is  *)
(* in Seats.tla: here a thief takes the oldest latent members, and the owner pops the newest, each in one step.   *)
EXTENDS Integers, FiniteSets

CONSTANTS
  N,              \* members 1..N, the newest is 1; beside them one that runs in place first and may be suspended
  Ends            \* the pool may end at any time, and discard the coroutine or break its wait off

\* The precautions. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  FlushFirst,     \* latent members are queued before another thread can resume the coroutine
  CountsTaken,    \* and members that thieves have taken are counted then too
  Refuses,        \* a wait is not broken off while children refer to the frames
  DropWaits,      \* a discard of a ready coroutine waits for its children
  LeftFirst,      \* a member that ends leaves the group first, then the coroutine's count
  Holds,          \* and holds the coroutine meanwhile
  OnceDropped     \* a count that has led to the destruction never does so again

VARIABLES
  where,    \* of each member: chain, held by a thief, queue, runs, here, left the group, over
  co,       \* the coroutine: runs, flushing, suspended, ready, waits, awaits, gone
  known,    \* the coroutine knows that the members are not in the chain any more
  stayed,   \* how many members have run in place
  ended,    \* the members that have ended elsewhere; once the coroutine waits, less the number of all that are elsewhere
  children, \* the members that refer to the coroutine's frames, as far as it has counted them
  pending,  \* the coroutine is to be destroyed when its children have ended
  stray,    \* a stop request that is still on its way through a scope: will count itself, and end
  drops,    \* how often the frames were destroyed
  touched   \* a step has used frames or a task that were gone
vars == <<where, co, known, stayed, ended, children, pending, stray, drops, touched>>

S == 1..N
In(w) == {s \in S : where[s] \in w}
Elsewhere == {"held", "queue", "runs", "left"}
FramesGone == co = "gone"
\* The coroutine task is freed when the coroutine has ended and nothing holds it.
TaskGone == co = "gone" /\ (~Holds \/ In({"runs", "left"}) = {})

Init ==
  /\ where = [s \in S |-> "chain"]
  /\ co = "runs" /\ known = FALSE /\ stayed = 0 /\ ended = 0 /\ children = 0
  /\ pending = FALSE /\ stray = "none" /\ drops = 0 /\ touched = FALSE

Gone == co' = "gone" /\ drops' = drops + 1

\* A thief takes s and all older latent members, and begins them later: those that lie in its own chain meanwhile, it
\* or another thief.
Take(s) ==
  /\ where[s] = "chain"
  /\ where' = [t \in S |-> IF where[t] = "chain" /\ t >= s THEN "held" ELSE where[t]]
  /\ UNCHANGED <<co, known, stayed, ended, children, pending, stray, drops, touched>>
Begin(s) ==
  /\ where[s] \in {"held", "queue"}
  /\ where' = [where EXCEPT ![s] = "runs"]
  /\ touched' = (touched \/ FramesGone)
  /\ UNCHANGED <<co, known, stayed, ended, children, pending, stray, drops>>

\* The end of a member that ran elsewhere, in two steps: the group's count and the coroutine's.
Leave ==
  /\ ended' = ended + 1
  /\ co' = IF ended' = 0 THEN "awaited" ELSE co
Count ==
  /\ children' = children - 1
  /\ IF pending /\ children = 1 THEN Gone /\ pending' = ~OnceDropped ELSE UNCHANGED <<co, drops, pending>>
EndFirst(s) ==
  /\ where[s] = "runs"
  /\ where' = [where EXCEPT ![s] = "left"]
  /\ IF LeftFirst
     THEN Leave /\ touched' = (touched \/ FramesGone) /\ UNCHANGED <<children, pending, drops>>
     ELSE Count /\ touched' = (touched \/ TaskGone) /\ UNCHANGED ended
  /\ UNCHANGED <<known, stayed, stray>>
EndSecond(s) ==
  /\ where[s] = "left"
  /\ where' = [where EXCEPT ![s] = "over"]
  /\ IF LeftFirst
     THEN Count /\ touched' = (touched \/ TaskGone) /\ UNCHANGED ended
     ELSE Leave /\ touched' = (touched \/ FramesGone) /\ UNCHANGED <<children, pending, drops>>
  /\ UNCHANGED <<known, stayed, stray>>

\* The coroutine is about to be suspended: it queues its latent members, and counts all members that it does not run.
Flush(next) ==
  /\ where' = [s \in S |-> IF where[s] = "chain" THEN "queue" ELSE where[s]]
  /\ children' = children + (IF CountsTaken THEN N - stayed ELSE Cardinality(In({"chain"})))
  /\ known' = TRUE
  /\ co' = next
  /\ UNCHANGED <<stayed, ended, pending, stray, drops, touched>>
\* Once: after that it has no member in the chain.
Suspend ==
  /\ co = "runs" /\ ~known
  /\ IF FlushFirst THEN Flush("suspended")
     ELSE co' = "suspended" /\ UNCHANGED <<where, known, stayed, ended, children, pending, stray, drops, touched>>
LateFlush == ~FlushFirst /\ ~known /\ co \in {"suspended", "ready"} /\ Flush(co)
Resume ==
  /\ co = "suspended" /\ co' = "ready"
  /\ UNCHANGED <<where, known, stayed, ended, children, pending, stray, drops, touched>>
GoOn ==
  /\ co = "ready" /\ ~pending /\ co' = "runs"
  /\ UNCHANGED <<where, known, stayed, ended, children, pending, stray, drops, touched>>

\* The coroutine runs the next latent member in place; the member ends at once.
Pop(s) ==
  /\ co = "runs" /\ ~known /\ where[s] = "chain" /\ \A t \in S : where[t] = "chain" => s <= t
  /\ where' = [where EXCEPT ![s] = "over"]
  /\ stayed' = stayed + 1
  /\ UNCHANGED <<co, known, ended, children, pending, stray, drops, touched>>
Missed ==
  /\ co = "runs" /\ ~known /\ In({"chain"}) = {} /\ stayed < N
  /\ known' = TRUE
  /\ children' = children + (N - stayed)
  /\ UNCHANGED <<where, co, stayed, ended, pending, stray, drops, touched>>
Rest ==
  /\ co = "runs" /\ (known \/ stayed = N)
  /\ ended' = ended - (N - stayed)
  /\ co' = IF ended' = 0 THEN "awaited" ELSE "waits"
  /\ UNCHANGED <<where, known, stayed, children, pending, stray, drops, touched>>
Finish ==
  /\ co = "awaited" /\ ~pending /\ Gone
  /\ UNCHANGED <<where, known, stayed, ended, children, pending, stray, touched>>

\* The pool ends. A suspended coroutine is broken off; a ready one is discarded.
Withdraw ==
  /\ Ends /\ co = "suspended" /\ (known \/ ~FlushFirst)
  /\ ~Refuses \/ children = 0
  /\ Gone
  /\ UNCHANGED <<where, known, stayed, ended, children, pending, stray, touched>>
Discard ==
  /\ Ends /\ co \in {"ready", "awaited"} /\ ~pending
  /\ IF DropWaits /\ children > 0
     THEN pending' = TRUE /\ stray' = "coming" /\ UNCHANGED <<co, drops>>
     ELSE Gone /\ UNCHANGED <<pending, stray>>
  /\ UNCHANGED <<where, known, stayed, ended, children, touched>>
\* The stop request of the discard: it is waited for before the frames are freed.
StrayBegins ==
  /\ stray = "coming" /\ stray' = "counted" /\ children' = children + 1
  /\ UNCHANGED <<where, co, known, stayed, ended, pending, drops, touched>>
StrayEnds ==
  /\ stray = "counted" /\ stray' = "none" /\ Count
  /\ UNCHANGED <<where, known, stayed, ended, touched>>

Done ==
  /\ co = "gone" /\ In(Elsewhere) = {} /\ stray = "none"
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
\* No waiter is told too early.
AllThere == co = "awaited" => In({"chain", "held", "queue", "runs"}) = {}
Finished == <>(co = "gone")
=============================================================================
