-------------------------------- MODULE Hedges --------------------------------
(* Several copies of one call, of which one counts: docs/design/hedging.md. A thread comes to each copy; a timer    *)
(* admits the delayed ones; a stop from outside, or the deadline, may come at any moment. In a race the caller      *)
(* destroys the callable when the call is complete. In a hedge the last reference to the state does.                *)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
  Copies,
  Delayed,       \* those that a timer admits
  Kind,          \* "race" or "hedge"
  Stops          \* whether a stop comes from outside

\* What must be there. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  TestsOpen,     \* a copy that returns decides only an open call
  FillsFirst,    \* a copy fills its slot before it decides
  AdmitTests,    \* a delayed copy is admitted to an open call only
  Marks,         \* a withdrawal changes the phase of the copy
  JoinsLosers,   \* a race is complete when no copy is inside
  Holds          \* a thread on its way to a copy of a hedge has a reference

ASSUME Delayed \subseteq Copies /\ Delayed # Copies /\ Kind \in {"race", "hedge"}

Symmetry == Permutations(Copies \ Delayed) \cup Permutations(Delayed)
Outside == <<"stop", "outside">>
None == "none"

(* --algorithm hedges
variables
  decision = "open",                \* open, failed, stopped, or the copy that has won
  decisions = 0,                    \* how often it was made
  inside = Cardinality(Copies \ Delayed),
  phase = [c \in Copies |-> IF c \in Delayed THEN "not due" ELSE "waiting"],
  sent = Copies \ Delayed,          \* copies to which a thread is on its way
  armed = Delayed,
  fired = {},                       \* timers that the firer holds
  filled = {},                      \* slots
  completions = 0,
  \* References: the caller's, each sent thread's, each armed timer's.
  references = 1 + (IF Holds THEN Cardinality(Copies) ELSE 0),
  alive = TRUE,                     \* the callable
  touched = FALSE,                  \* after its death
  returned = None;                  \* what the caller has got

define
  OneDecision == decisions <= 1
  CompleteOnce == completions <= 1
  Untouched == ~touched
  \* The caller gets what the winner has filled, and nothing else.
  OneResult == returned \in Copies => returned = decision /\ returned \in filled
  \* While the call is open a copy is inside, so a change comes that decides it.
  Inhabited == decision = "open" => inside > 0
end define;

macro drop_reference() begin
  if Kind = "hedge" then
    references := references - 1;
    if references = 0 then
      alive := FALSE;
    end if;
  end if;
end macro;

macro complete(decided, last) begin
  if ((Kind = "hedge" \/ ~JoinsLosers) /\ decided) \/ (Kind = "race" /\ JoinsLosers /\ last) then
    completions := completions + 1;
  end if;
end macro;

\* One compare-exchange.
macro leave(copy, value) begin
  inside := inside - 1;
  if ((decision = "open" \/ ~TestsOpen) /\ value) \/ (decision = "open" /\ inside = 0) then
    decision := IF value THEN copy ELSE "failed";
    decisions := decisions + 1;
    decided := TRUE;
  end if;
  last := inside = 0;
end macro;

\* By the thread that has decided: timers, copies that wait, the stop, the completion.
procedure settle(out = FALSE)
variables rest = Copies;
begin
s_disarm: if Holds /\ Kind = "hedge" then
    references := references - Cardinality(armed);
  end if;
  armed := {};
s_withdraw: while rest # {} do
    with c \in rest do
      rest := rest \ {c};
      if phase[c] = "waiting" then
        if Marks then
          phase[c] := "withdrawn";
        end if;
        inside := inside - 1;
        out := out \/ inside = 0;
      end if;
    end with;
  end while;
s_complete: complete(TRUE, out);
  return;
end procedure;

fair process runner \in Copies
variables decided = FALSE, last = FALSE, value = FALSE;
begin
r_come: await self \in sent \/ (self \notin armed \cup fired /\ phase[self] = "not due");
  if self \notin sent then
    goto Done;
  end if;
r_begin: if phase[self] = "waiting" then
    phase[self] := "running";
  else
    goto r_drop;
  end if;
r_look: if decision # "open" then
    goto r_end;
  end if;
r_call: touched := touched \/ ~alive;    \* it begins to use the callable
  either
    value := TRUE;
  or
    value := FALSE;    \* it throws, or has looked at its token
  end either;
r_fill: touched := touched \/ ~alive;    \* it has used it until now
  if value /\ FillsFirst then
    filled := filled \cup {self};
  end if;
r_end: leave(self, value);
r_settle: if decided then
    call settle(last);
  else
    complete(FALSE, last);
  end if;
r_late: if value /\ ~FillsFirst then
    filled := filled \cup {self};
  end if;
r_drop: if Holds then
    drop_reference();
  end if;
end process;

\* Fires when it likes; the deciding thread may have disarmed it before.
fair process timer \in {<<"timer", c>> : c \in Delayed}
begin
t_fire: await self[2] \in armed \/ decision # "open";
  if self[2] \in armed then
    armed := armed \ {self[2]};
    fired := fired \cup {self[2]};
  else
    goto Done;
  end if;
t_admit: if decision = "open" \/ ~AdmitTests then
    inside := inside + 1;
  else
    fired := fired \ {self[2]};
    if Holds then
      drop_reference();
    end if;
    goto Done;
  end if;
t_phase: phase[self[2]] := "waiting";
t_send: sent := sent \cup {self[2]};    \* the reference goes with it
  fired := fired \ {self[2]};
end process;

\* A stop, or the deadline.
fair process stopper = Outside
variables decided = FALSE, last = FALSE;
begin
o_stop: if Stops /\ decision = "open" then
    decision := "stopped";
    decisions := decisions + 1;
    decided := TRUE;
  else
    goto Done;
  end if;
o_settle: call settle(FALSE);
end process;

fair process caller = <<"caller", "outside">>
begin
c_wait: await completions > 0;
  returned := decision;
c_leave: if Kind = "race" then
    alive := FALSE;
  else
    drop_reference();
  end if;
end process;
end algorithm; *)

\* In the end nothing is left: no copy inside, and the callable is gone.
Cleared == <>[](inside = 0 /\ ~alive)
Finished == <>(\A p \in ProcSet : pc[p] = "Done") /\ Cleared
==============================================================================
