------------------------------- MODULE Routines -------------------------------
(* One routine: docs/design/routines.md. Workers run it, the firer's timer may be due at any time, a thread wakes *)
(* it and then signals. The callback that receives the signal deletes the routine.                                *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Workers,
  Waits          \* how often the callback may wait with a deadline

\* What must be there. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  ClaimsLocked,  \* the firer moves the routine on under the lock of its timer's shard
  ArmsFirst,     \* the timer is armed before the routine waits
  DisarmsFirst,  \* the thread that moves the routine on disarms its timer before it pushes the routine
  PostsAfter,    \* what the callback posts takes effect when the callback has returned
  KeepsSignal    \* a signal to a running routine puts its flag up

Symmetry == Permutations(Workers)

(* --algorithm routines
variables
  phase = "queued",        \* idle, queued, running, waiting
  woken = FALSE, signalled = FALSE, expired = FALSE,
  linked = FALSE,          \* the timer, in its wheel
  locked = FALSE,          \* the shard, by the firer
  queue = 1,               \* how often the routine is in a run queue
  callbacks = 0,           \* how many threads are in the callback
  left = Waits,
  alive = TRUE,
  received = FALSE,
  touched = FALSE,         \* after its deletion
  wrong = FALSE;           \* it was started in another phase than queued

define
  OneRun == callbacks <= 1 /\ ~wrong
  QueuedOnce == queue <= 1
  Untouched == ~touched
  Flag == woken \/ signalled \/ expired
end define;

\* A step that touches the routine.
macro touch() begin
  touched := touched \/ ~alive;
end macro;

fair process worker \in Workers
variable timed = FALSE;
begin
w_pop: await queue > 0 \/ received;
  if queue = 0 then
    goto Done;
  else
    queue := queue - 1;
  end if;
w_start: touch();
  wrong := wrong \/ phase # "queued";
  phase := "running";
  woken := FALSE;
  callbacks := callbacks + 1;
w_call: touch();
  if signalled then
    signalled := FALSE;
    phase := "idle";
    alive := FALSE;
    received := TRUE;
    callbacks := callbacks - 1;
    goto w_pop;
  elsif left > 0 then
    either
      timed := TRUE;
      left := left - 1;
    or
      timed := FALSE;
    end either;
  else
    timed := FALSE;
  end if;
w_return: touch();
  if PostsAfter then
    callbacks := callbacks - 1;
  end if;
w_arm: if timed /\ ArmsFirst then
    await ~locked;
    touch();
    expired := FALSE;
    linked := TRUE;
  else
    touch();
    expired := FALSE;
  end if;
w_wait: touch();
  if Flag then
    phase := "queued";
    goto w_disarm;
  else
    phase := "waiting";
    if timed /\ ~ArmsFirst then
      goto w_arm_late;
    else
      goto w_rest;
    end if;
  end if;
w_arm_late: await ~locked;
  touch();
  linked := TRUE;
  goto w_rest;
w_disarm: await ~locked;
  touch();
  linked := FALSE;
w_push: touch();
  queue := queue + 1;
w_rest: if ~PostsAfter then    \* the rest of the callback
    touch();
    callbacks := callbacks - 1;
  end if;
  goto w_pop;
end process;

fair process firer = "firer"
begin
f_take: await (linked /\ ~locked) \/ received;
  if received then
    goto Done;
  else
    linked := FALSE;
    locked := ClaimsLocked;
  end if;
f_claim: touch();
  locked := FALSE;
  expired := TRUE;
  if phase = "waiting" then
    phase := "queued";
  else
    goto f_take;
  end if;
f_push: touch();
  queue := queue + 1;
  goto f_take;
end process;

fair process sender = "sender"
variable again = TRUE;    \* it wakes, then signals
begin
s_raise: touch();
  if again then
    woken := TRUE;
  elsif KeepsSignal \/ phase # "running" then
    signalled := TRUE;
  end if;
  if phase = "waiting" then
    phase := "queued";
  else
    goto s_next;
  end if;
s_first: if DisarmsFirst then
    await ~locked;
    touch();
    linked := FALSE;
  else
    touch();
    queue := queue + 1;
  end if;
s_second: if DisarmsFirst then
    touch();
    queue := queue + 1;
  else
    await ~locked;
    touch();
    linked := FALSE;
  end if;
s_next: if again then
    again := FALSE;
    goto s_raise;
  end if;
end process;
end algorithm; *)

Finished == <>(\A p \in ProcSet : pc[p] = "Done")
==============================================================================
