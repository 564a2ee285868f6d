------------------------------- MODULE Seats -------------------------------
(* Take, parking and seats as one protocol: docs/design/take.md, docs/design/parking.md.                         *)
(* spec/README.md says what the model contains and leaves out. The algorithm below is PlusCal; scripts/models     *)
(* translates it and checks it with TLC.                                                                          *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Workers, Spares,  \* threads that exist from the beginning; threads that may be made
  Seats,
  Plain,            \* tasks that only run
  Waiters,          \* tasks that wait until all of Needs have run
  Forkers,          \* tasks that fork Depth jobs, one inside the other, and join them
  Needs, Depth,
  Searchers,        \* the limit on seated threads that search at the same time, called threads not counted
  Leaf,             \* what the innermost fork of a forker does: "short", "busy" until its jobs have run, or "wait"
  None, Empty, Outside, Monitor, Memory, End

CONSTANT PopFenced  \* the owner's store is sequentially consistent, because there is no membarrier

\* The precautions. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  UnlinkFirst,      \* the owner takes its job out of the slot before it looks at head_
  ThiefBarrier,     \* the thief's membarrier
  Recheck,          \* a worker that has announced its sleep looks at the queues again
  UnseatedRechecks,    \* the same for a thread that goes idle because it came back from a wait and found no seat
  StepDownRechecks,    \* the same for a thread that has given its seat to an unseated one
  GiveUpRechecks,      \* the same for a caller that found no thread for a seat, if a thread has gone idle meanwhile
  BatchCalls,       \* a thread that has moved tasks to a seat's queue calls a worker, as for any push
  Monitoring          \* the monitor calls a worker for latent jobs

Threads == Workers \cup Spares
Tasks == Plain \cup Waiters \cup Forkers
Jobs == Forkers \X (1..Depth)

ASSUME Needs \subseteq Tasks /\ Leaf \in {"short", "busy", "wait"}

(* --algorithm Seats
variables
  \* ---- The idle set. `state` is read without its lock; all else changes in one step, which is the lock.
  state = [vacant |-> Cardinality(Seats), searching |-> 0],
  vacant = Seats,
  occupant = [s \in Seats |-> None],
  place = [t \in Threads |-> None],     \* a thread's seat
  idle = Workers,                       \* threads that wait for a seat
  unseated = {},
  made = Workers,
  token = [t \in Threads |-> FALSE],    \* the parkers: a wake that has not been used

  \* ---- Queues. Sets, not sequences: no order is relied upon.
  injector = {},
  queue = [s \in Seats |-> {}],

  \* ---- Chains. head counts the jobs that have left; slots are numbered from 1.
  head = [t \in Threads |-> 0],
  slot = [t \in Threads |-> [p \in 1..Depth |-> None]],
  buffer = [t \in Threads |-> <<>>],    \* the owner's store buffer: stores to its slots that no other thread sees yet
  lock = [t \in Threads |-> None],
  asker = [t \in Threads |-> None],
  box = [t \in Threads |-> None],       \* the answer to a thread's request
  job = [j \in Jobs |-> "latent"],      \* then "running", perhaps "awaited", "done"; of jobs that have left only
  owner = [j \in Jobs |-> None],

  \* ---- For the invariants alone.
  ran = [x \in Tasks \cup Jobs |-> 0],
  alive = {},                           \* jobs whose frame exists
  duty = {};                            \* threads that have made an event or announced their sleep, and have not looked yet

define
  HasLatent(t) == head[t] < Depth /\ slot[t][head[t] + 1] # None
  AnyLatent == \E t \in Threads : HasLatent(t)
  Drained(t) == \* slot[t] after all the stores in the buffer, of which the last to a slot counts
    [p \in 1..Depth |->
      LET hits == {n \in 1..Len(buffer[t]) : buffer[t][n][1] = p}
      IN IF hits = {} THEN slot[t][p] ELSE buffer[t][CHOOSE n \in hits : \A m \in hits : m <= n][2]]
end define;

\* Under the idle set's lock, as all that changes more than one of its variables.
macro leave_seat(searched) begin
  occupant[place[self]] := None;
  vacant := vacant \cup {place[self]};
  state := [vacant |-> state.vacant + 1, searching |-> state.searching - (IF searched THEN 1 ELSE 0)];
  place[self] := None;
end macro;

\* The thread is on the list of idle threads from now on.
macro go_idle() begin
  idle := idle \cup {self};
  active := FALSE;
end macro;

\* The thread has found a task or a job.
macro go_run() begin
  again := FALSE;
  if mine then goto EndSearch; else goto Run; end if;
end macro;

macro end_task() begin
  found := None;
  if unseated # {} then goto StepDown; else goto Work; end if;
end macro;

\* Gives the seat to an unseated thread.
macro step_down() begin
  with successor \in unseated do
    unseated := unseated \ {successor};
    occupant[place[self]] := successor;
    place[successor] := place[self] || place[self] := None;
  end with;
  go_idle();
  if StepDownRechecks then
    duty := duty \cup {self};
    call check_queues(FALSE);
    goto Work;
  else
    duty := duty \ {self};
    goto Work;
  end if;
end macro;

\* Wakes a worker if a seat is vacant and no thread searches. basic_idle_set::wanted() and summon() in one step: the
\* state that the first has read may be outdated, but the second reads it again.
procedure call_worker()
  variables where = None;
begin
Summon:
  if state.searching # 0 \/ vacant = {} then
    duty := duty \ {self};
    return;
  else
    with s \in vacant do
      vacant := vacant \ {s};
      state := [vacant |-> state.vacant - 1, searching |-> state.searching + 1];
      if idle = {} then
        where := s;
      else
        with t \in idle do
          idle := idle \ {t};
          place[t] := s;
          occupant[s] := t;
          token[t] := TRUE;
        end with;
        duty := duty \ {self};
        return;
      end if;
    end with;
  end if;
MakeThread:
  if made # Threads then
    with t \in Threads \ made do
      made := made \cup {t};
      place[t] := where;
      occupant[where] := t;
    end with;
    duty := duty \ {self};
    return;
  else
    vacant := vacant \cup {where};
    state := [vacant |-> state.vacant + 1, searching |-> state.searching - 1];
    if GiveUpRechecks /\ idle # {} then
      duty := duty \cup {self};
      call check_queues(FALSE);
      return;
    else
      duty := duty \ {self};
      return;
    end if;
  end if;
end procedure;

\* Looks at the queues, one kind after the other, and calls a worker if there is anything.
procedure check_queues(latent = FALSE)
begin
CheckInjector:
  if injector # {} then
    call call_worker();
    return;
  end if;
CheckSeats:
  if (\E s \in Seats : queue[s] # {}) \/ (latent /\ AnyLatent) then
    call call_worker();
    return;
  else
    duty := duty \ {self};
    return;
  end if;
end procedure;

\* Leaves the seat, sleeps until the awaited job is done (None: until all of Needs have run), comes back.
procedure park(awaited = None)
  variables left = None;
begin
LeaveSeat:
  left := place[self];
  unseated := unseated \ {self};
  if place[self] # None then leave_seat(FALSE); end if;
  duty := duty \cup {self};
  call check_queues(FALSE);
Parked:
  if awaited = None then
    await \A x \in Needs : ran[x] # 0;
  elsif job[awaited] # "done" then
    goto Asleep;
  end if;
ComeBack:
  if left # None then
    if vacant # {} then
      with s \in IF left \in vacant THEN {left} ELSE vacant do
        vacant := vacant \ {s};
        state.vacant := state.vacant - 1;
        occupant[s] := self;
        place[self] := s;
      end with;
    else
      unseated := unseated \cup {self};
    end if;
  end if;
  return;
Asleep:
  await token[self];
  token[self] := FALSE;
  goto Parked;
end procedure;

fair process thread \in Threads
variables
  active = FALSE, mine = FALSE, \* mine: counted as searching
  again = FALSE,                \* has looked without being counted
  found = None,                 \* a task or a job
  hand = {},                    \* tasks on their way from one queue to another
  top = 0, seen = FALSE,        \* of the own chain
  victim = None;
begin
Work:
  await self \in made;
  if place[self] = None then
    if active then goto GoIdle; else goto Sleep; end if;
  elsif ~active then \* called: its caller has counted it as searching
    active := TRUE;
    mine := TRUE;
    goto Work;
  else
    if queue[place[self]] # {} then
      with x \in queue[place[self]] do
        found := x;
        queue[place[self]] := queue[place[self]] \ {x};
      end with;
      go_run();
    elsif injector # {} then
      with x \in injector do
        found := x;
        hand := injector \ {x};
      end with;
      injector := {};
      if hand # {} then goto Publish; else go_run(); end if;
    elsif ~mine /\ ~again then
      again := TRUE;
      if state.searching < Searchers then
        state.searching := state.searching + 1;
        mine := TRUE;
      end if;
      goto Work;
    elsif \E s \in Seats : queue[s] # {} then
      with s \in {s \in Seats : queue[s] # {}},
           half \in {b \in SUBSET queue[s] : Cardinality(b) = (Cardinality(queue[s]) + 1) \div 2},
           x \in half do
        found := x;
        hand := half \ {x};
        queue[s] := queue[s] \ half;
      end with;
      if hand # {} then goto Publish; else go_run(); end if;
    elsif \E v \in Threads \ {self} : HasLatent(v) /\ asker[v] = None then
      with v \in {v \in Threads \ {self} : HasLatent(v) /\ asker[v] = None} do
        victim := v;
        asker[v] := self;
      end with;
      goto Answer;
    else
      goto GiveUp;
    end if;
  end if;

Sleep:
  await token[self];
  token[self] := FALSE;
  goto Work;

\* At the end of a task without a seat. Another thread may have stepped down for this one a moment ago.
GoIdle:
  unseated := unseated \ {self};
  if place[self] # None then leave_seat(FALSE); end if;
  go_idle();
  if UnseatedRechecks then
    duty := duty \cup {self};
    call check_queues(FALSE);
    goto Work;
  else
    goto Work;
  end if;

\* ---- Latent jobs ----------------------------------------------------------------------------------------------
Answer:
  either
    await box[self] # None;
    victim := None;
    if box[self] = Empty then
      box[self] := None;
      goto GiveUp;
    else
      found := box[self];
      box[self] := None;
      go_run();
    end if;
  or \* impatient
    await asker[victim] = self;
    asker[victim] := None;
  end either;
Take:
  if HasLatent(victim) /\ lock[victim] = None then
    lock[victim] := self;
  else
    victim := None;
    goto GiveUp;
  end if;
Claim:
  head[victim] := head[victim] + 1;
Barrier:
  if ThiefBarrier then
    slot[victim] := Drained(victim);
    buffer[victim] := <<>>;
  end if;
LookAgain:
  if slot[victim][head[victim]] = None then
    head[victim] := head[victim] - 1;
    lock[victim] := None;
    victim := None;
    goto GiveUp;
  else
    found := slot[victim][head[victim]];
  end if;
MoveOut: \* writes to the frame
  job[found] := "running";
  lock[victim] := None;
  victim := None;
  go_run();

\* ---- Nothing found --------------------------------------------------------------------------------------------
GiveUp:
  again := FALSE;
  if mine /\ unseated # {} then
    mine := FALSE; \* pushers have relied on it: it must look once more; here that is left to what follows
    state.searching := state.searching - 1;
    duty := duty \cup {self};
  else
    leave_seat(mine);
    go_idle();
    mine := FALSE;
    if Recheck then
      duty := duty \cup {self};
      call check_queues(FALSE);
      goto Work;
    else
      goto Work;
    end if;
  end if;
Yield:
  if unseated # {} then step_down(); else goto GiveUp; end if;

\* ---- Something found ------------------------------------------------------------------------------------------
Publish:
  queue[place[self]] := queue[place[self]] \cup hand;
  hand := {};
  if BatchCalls /\ ~mine then
    duty := duty \cup {self};
    call call_worker();
    goto Run;
  else
    go_run();
  end if;
EndSearch:
  mine := FALSE;
  state.searching := state.searching - 1;
  if state.searching = 0 /\ state.vacant # 0 then
    duty := duty \cup {self};
    call check_queues(TRUE);
  end if;
Run:
  ran[found] := ran[found] + 1;
  if found \in Jobs then
    goto Finish;
  elsif found \in Forkers then
    goto Fork;
  elsif found \in Waiters then
    call park(None);
    goto EndTask;
  else
    end_task();
  end if;
EndTask:
  end_task();
Finish: \* the last touch of the frame
  seen := job[found] = "awaited";
  job[found] := "done";
  if ~seen then end_task(); end if;
WakeOwner:
  token[owner[found]] := TRUE;
  seen := FALSE;
  end_task();
StepDown:
  if unseated # {} /\ place[self] # None then step_down(); else goto Work; end if;

\* ---- A task that forks ----------------------------------------------------------------------------------------
Fork: \* a new job is visible at once, unless an older store is not: later would only look like a later fork
  top := top + 1;
  owner[<<found, top>>] := self;
  alive := alive \cup {<<found, top>>};
  if buffer[self] = <<>> then
    slot[self][top] := <<found, top>>;
  else
    buffer[self] := Append(buffer[self], <<top, <<found, top>>>>);
  end if;
Forked: \* limit_ is but a hint: whether an owner notices a request is left open
  either
    await asker[self] # None /\ buffer[self] = <<>>; \* the exchange drains the buffer
    victim := asker[self];
    asker[self] := None;
  or
    if top < Depth then
      goto Fork;
    elsif Leaf = "wait" then
      call park(None);
      goto Pop;
    else
      await Leaf = "busy" => \A p \in 1..Depth : ran[<<found, p>>] # 0;
      goto Pop;
    end if;
  end either;
HandOver:
  await lock[self] = None;
  if HasLatent(self) then
    job[slot[self][head[self] + 1]] := "running";
    box[victim] := slot[self][head[self] + 1];
    head[self] := head[self] + 1;
  else
    box[victim] := Empty;
  end if;
  victim := None;
  goto Forked;
Pop:
  if UnlinkFirst then
    buffer[self] := Append(buffer[self], <<top, None>>);
  else
    seen := head[self] < top;
  end if;
PopLook:
  await PopFenced => buffer[self] = <<>>;
  top := top - 1;
  if UnlinkFirst then
    seen := head[self] <= top;
  else
    buffer[self] := Append(buffer[self], <<top + 1, None>>);
  end if;
  if seen then goto Inline; end if;
PopSlow:
  await lock[self] = None /\ buffer[self] = <<>>; \* taking the lock drains the buffer
  if head[self] > top then
    head[self] := top;
    goto Join;
  end if;
Inline:
  ran[<<found, top + 1>>] := ran[<<found, top + 1>>] + 1;
  goto Joined;
Join:
  if job[<<found, top + 1>>] # "done" then
    job[<<found, top + 1>>] := "awaited";
    call park(<<found, top + 1>>);
  end if;
Joined:
  seen := FALSE;
  alive := alive \ {<<found, top + 1>>};
  if top # 0 then goto Pop; else end_task(); end if;
end process;

\* Pushes all tasks, in any order.
fair process outside = Outside
variables unpushed = Tasks;
begin
Push:
  with x \in unpushed do
    injector := injector \cup {x};
    unpushed := unpushed \ {x};
  end with;
  duty := duty \cup {Outside};
  call call_worker();
  goto Push;
end process;

fair process monitor = Monitor
begin
Look:
  await Monitoring /\ state.vacant # 0 /\ state.searching = 0 /\ AnyLatent;
  call call_worker();
  goto Look;
end process;

\* Stores become visible in order, at any time.
fair process memory = Memory
begin
Drain:
  with t \in {t \in Threads : buffer[t] # <<>>} do
    slot[t][Head(buffer[t])[1]] := Head(buffer[t])[2];
    buffer[t] := Tail(buffer[t]);
  end with;
  goto Drain;
end process;

\* A step for ever once all is done: an execution that stops earlier is a deadlock.
process end = End
begin
Stop:
  await /\ \A x \in Tasks \cup Jobs : ran[x] = 1
        /\ \A t \in made : pc[t] = "Sleep" /\ ~token[t];
  goto Stop;
end process;
end algorithm; *)
\* BEGIN TRANSLATION
\* END TRANSLATION

-----------------------------------------------------------------------------------------------------------------

Queued == injector \cup UNION {queue[s] : s \in Seats}

Done == /\ \A x \in Tasks \cup Jobs : ran[x] = 1
        /\ \A t \in made : pc[t] = "Sleep"

\* A task or job is run by one thread, once.
OneRun == \A x \in Tasks \cup Jobs : ran[x] <= 1

\* No thread touches the frame of a fork that has returned.
LiveFrames == \A t \in Threads :
  (pc[t] \in {"MoveOut", "Finish"} \/ (pc[t] = "Run" /\ found[t] \in Jobs)) => found[t] \in alive

OneOccupant ==
  /\ \A t \in Threads : place[t] # None => occupant[place[t]] = t
  /\ \A s \in Seats : occupant[s] # None => place[occupant[s]] = s /\ s \notin vacant

\* An idle thread has no seat and waits for none.
OneState == \A t \in Threads :
  /\ t \in idle => place[t] = None /\ t \notin unseated
  /\ t \in unseated => place[t] = None /\ active[t]

\* Searching are the threads that say so, called threads that have not noticed it, and threads that are being made.
Counters ==
  /\ state.vacant = Cardinality(vacant)
  /\ state.searching = Cardinality({t \in Threads : mine[t] \/ (place[t] # None /\ ~active[t])})
                       + Cardinality({p \in ProcSet : pc[p] = "MakeThread"})

\* Guarantee W: beside a queued task no thread sleeps that could run it, unless a thread searches or is about to look.
GuaranteeW ==
  (Queued # {} /\ state.vacant # 0 /\ state.searching = 0 /\ duty = {}) => (idle = {} /\ made = Threads)

Finished == <>[]Done

Symmetry == Permutations(Workers) \cup Permutations(Spares) \cup Permutations(Plain) \cup Permutations(Seats)
=================================================================================================================
