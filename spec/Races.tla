-------------------------------- MODULE Races --------------------------------
(* Races: docs/design/races.md. Owners enter the members of their races at objects, plain givers bring values to   *)
(* objects, a stop may claim a race. An object is a channel without a limit: a value that meets no receiver is     *)
(* kept, a raced sender that meets none is listed.                                                                *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Objects, Givers, Races,  \* Races are numbers: their order is that of the addresses
  Members,                 \* of each race, in the order in which its owner enters them: where, and which side
  Where,                   \* the object of each giver
  None, o1, o2, g1, g2

\* What must be there. Each is switched off in a configuration of its own, which must fail.
CONSTANTS
  ClaimsFirst,   \* a giver claims the race before it hands over
  ClaimsOwn,     \* a party in a race claims that one too
  InOrder,       \* two races are locked in the order of their addresses
  PassesOver,    \* a member of the same race is passed over
  PassesThrough  \* an owner takes its losing members out under the objects' locks

\* Values of Members and Where.
Receives(o) == [at |-> o, side |-> "receive"]
Sends(o) == [at |-> o, side |-> "send"]
TwoReceivers == (1 :> <<Receives(o1), Receives(o2)>>) @@ (2 :> <<Receives(o2), Receives(o1)>>)
Crossed == (1 :> <<Receives(o1), Sends(o2)>>) @@ (2 :> <<Receives(o2), Sends(o1)>>)
WithItself == (1 :> <<Receives(o1), Sends(o1)>>) @@ (2 :> <<Receives(o2), Receives(o1)>>)
Both == (g1 :> o1) @@ (g2 :> o2)
Symmetry == {[x \in {None} |-> x]}

Other(side) == IF side = "send" THEN "receive" ELSE "send"
Lower(x, y) == IF x < y THEN x ELSE y
Higher(x, y) == IF x < y THEN y ELSE x

(* --algorithm races
variables
  locked = [o \in Objects |-> FALSE],    \* the objects' locks
  held = [r \in Races |-> FALSE],        \* the races' locks
  winner = [r \in Races |-> None],
  list = [o \in Objects |-> <<>>],       \* nodes: the race, its member, the side
  kept = [o \in Objects |-> 0],          \* values that met no receiver
  got = [r \in Races |-> {}],            \* members that took effect
  ends = [r \in Races |-> 0],            \* how often the wait was ended
  gone = [r \in Races |-> FALSE],        \* the owner has gone on, and the race with it
  touched = FALSE;                       \* a race was touched after that

define
  Nodes(o, side, but) == {i \in 1..Len(list[o]) : list[o][i].side = side /\ list[o][i].race # but}
  First(o, side, but) == CHOOSE i \in Nodes(o, side, but) : \A j \in Nodes(o, side, but) : i <= j
  Without(s, i) == SubSeq(s, 1, i - 1) \o SubSeq(s, i + 1, Len(s))
  NotOf(s, r) == SelectSeq(s, LAMBDA n : n.race # r)

  OneEffect == \A r \in Races : Cardinality(got[r]) <= 1
  Agreed == \A r \in Races : winner[r] \in 1..2 /\ ~held[r] => got[r] = {winner[r]}
  EndsOnce == \A r \in Races : ends[r] <= 1
  Untouched == ~touched
end define;

macro touch(r) begin
  touched := touched \/ gone[r];
end macro;

fair process giver \in Givers
variables n = 0, node = None;
begin
g_lock: await ~locked[Where[self]];
  locked[Where[self]] := TRUE;
g_look: if Nodes(Where[self], "receive", None) = {} then
    kept[Where[self]] := kept[Where[self]] + 1;
    node := None;
    goto g_unlock;
  else
    n := First(Where[self], "receive", None);
    node := list[Where[self]][n];
  end if;
g_claim: await ~held[node.race] \/ ~ClaimsFirst;
  touch(node.race);
  if ClaimsFirst then
    held[node.race] := TRUE;
  end if;
g_give: list[Where[self]] := Without(list[Where[self]], n);
  if ClaimsFirst /\ winner[node.race] # None then
    held[node.race] := FALSE;
    goto g_look;
  else
    got[node.race] := got[node.race] \cup {node.member};
    winner[node.race] := node.member;
    held[node.race] := FALSE;
  end if;
g_unlock: locked[Where[self]] := FALSE;
g_end: if node # None then
    touch(node.race);
    ends[node.race] := ends[node.race] + 1;
  end if;
end process;

fair process owner \in Races
variables m = 1, at = None, n = 0, met = None, entered = {};
begin
w_enter: if m > 2 then
    goto w_wait;
  else
    at := Members[self][m].at;
    await ~locked[Members[self][m].at];
    locked[Members[self][m].at] := TRUE;
  end if;
w_look: with others = Nodes(at, Other(Members[self][m].side), IF PassesOver THEN self ELSE None) do
    if others = {} then
      met := None;
    else
      n := First(at, Other(Members[self][m].side), IF PassesOver THEN self ELSE None);
      met := list[at][n];
    end if;
  end with;
w_first: with r = IF met = None \/ met.race = self THEN self
                  ELSE IF InOrder THEN Lower(self, met.race) ELSE self do
    if r # self \/ ClaimsOwn then
      await ~held[r];
      touch(r);
      held[r] := TRUE;
    end if;
  end with;
w_second: if met # None /\ met.race # self then
    with r = IF InOrder THEN Higher(self, met.race) ELSE met.race do
      if r # self \/ ClaimsOwn then
        await ~held[r];
        touch(r);
        held[r] := TRUE;
      end if;
    end with;
  end if;
w_decide: if ClaimsOwn /\ winner[self] # None then    \* it takes nothing, and gives nothing
    held := [r \in Races |-> IF r = self \/ (met # None /\ r = met.race) THEN FALSE ELSE held[r]];
    met := None;
    m := 3;
  elsif met # None /\ met.race # self /\ winner[met.race] # None then    \* that one is lost
    held := [r \in Races |-> IF (r = self /\ ClaimsOwn) \/ r = met.race THEN FALSE ELSE held[r]];
    list[at] := Without(list[at], n);
    goto w_look;
  elsif met # None then
    list[at] := Without(list[at], n);
    got := [r \in Races |-> IF r = met.race /\ r = self THEN got[r] \cup {m, met.member}
                            ELSE IF r = met.race THEN got[r] \cup {met.member}
                            ELSE IF r = self THEN got[r] \cup {m} ELSE got[r]];
    winner := [r \in Races |-> IF r = self THEN m ELSE IF r = met.race THEN met.member ELSE winner[r]];
    held := [r \in Races |-> IF (r = self /\ ClaimsOwn) \/ r = met.race THEN FALSE ELSE held[r]];
    m := 4;    \* its own: no thread ends this wait
  elsif Members[self][m].side = "receive" /\ kept[at] > 0 then
    kept[at] := kept[at] - 1;
    got[self] := got[self] \cup {m};
    winner[self] := m;
    held[self] := IF ClaimsOwn THEN FALSE ELSE held[self];
    m := 4;
  else
    list[at] := Append(list[at], [race |-> self, member |-> m, side |-> Members[self][m].side]);
    entered := entered \cup {at};
    held[self] := IF ClaimsOwn THEN FALSE ELSE held[self];
    m := m + 1;
  end if;
w_unlock: locked[at] := FALSE;
w_end: if met # None /\ met.race # self then
    touch(met.race);
    ends[met.race] := ends[met.race] + 1;
  end if;
  if m <= 2 then
    goto w_enter;
  end if;
w_wait: await m = 4 \/ ends[self] > 0;
w_leave: if entered = {} then
    goto w_gone;
  else
    with o \in entered do
      await ~locked[o] \/ ~PassesThrough;
      list[o] := NotOf(list[o], self);
      entered := entered \ {o};
    end with;
    goto w_leave;
  end if;
w_gone: gone[self] := TRUE;
end process;

\* A stop listener is taken out before the owner goes on, or has been called.
fair process stop \in {r + 10 : r \in Races}
begin
s_claim: await gone[self - 10] \/ ~held[self - 10];
  if ~gone[self - 10] /\ winner[self - 10] = None then
    winner[self - 10] := 3;
    ends[self - 10] := ends[self - 10] + 1;
  end if;
end process;
end algorithm; *)

Finished == <>(\A p \in ProcSet : pc[p] = "Done")
==============================================================================
