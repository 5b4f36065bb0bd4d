import type { Cluster, MemberView } from "@moorage/contract/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { UsedIds } from "../../specs/node-state.ts";
import { memberSpec } from "../../testing/node-spec.ts";
import { decideGroup, type GroupFacts } from "./decide-group.ts";
import { dataGivenUp, dueReclone, isBetweenData } from "../member/due-reclone.ts";

const [own, second, third] = [0, 1, 2].map((ordinal) => memberSpec(ordinal).node) as [string, string, string];
const [id, other] = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"];

const spec = (change: Partial<Cluster> = {}) => {
  const { cluster, node } = memberSpec(0);
  if (cluster === undefined) throw new Error("no cluster");
  return { node, cluster: { ...cluster, ...change } };
};
const being = (state: GroupFacts["own"]["state"], change: Partial<GroupFacts["own"]> = {}): GroupFacts["own"] => ({
  state,
  readOnly: true,
  isPatient: false,
  hasDonor: true,
  ...change,
});
const facts = (change: Partial<GroupFacts> = {}): GroupFacts => ({
  own: being("offline"),
  others: [],
  used: {},
  errant: "",
  ...change,
});
const view = (node: string, change: Partial<MemberView> = {}): MemberView => ({
  node,
  ageMs: 300,
  state: "online",
  role: node === second ? "primary" : "secondary",
  primary: second,
  online: [second, third],
  writable: node === second,
  invites: own,
  ...change,
});
const group = [view(second), view(third)];
const outOfGroup = [view(second, { state: "offline", online: [] }), view(third, { state: "away", online: [] })];

const lone: [string, Partial<Cluster>, Partial<GroupFacts>, object][] = [
  ["without a permission it waits", {}, {}, { kind: "wait" }],
  ["with a permission it bootstraps", { bootstrap: id }, {}, { kind: "bootstrap", id }],
  [
    "with a permission it bootstraps beside members that are in no group",
    { bootstrap: id },
    { others: outOfGroup },
    { kind: "bootstrap", id },
  ],
  ["with a permission, but without a gatekeeper, it waits", { bootstrap: id }, { others: undefined }, { kind: "wait" }],
  ["with a permission that was used it waits", { bootstrap: id }, { used: { bootstrapped: id } }, { kind: "wait" }],
  [
    "with another permission it bootstraps",
    { bootstrap: other },
    { used: { bootstrapped: id } },
    { kind: "bootstrap", id: other },
  ],
  ["beside a group its permission is not used", { bootstrap: id }, { others: group }, { kind: "join" }],
  [
    "beside a member that is joining a group its permission is not used",
    { bootstrap: id },
    { others: [view(third, { state: "recovering" })] },
    { kind: "wait" },
  ],
  [
    "with a permission it does not bootstrap from data that are being re-cloned",
    { bootstrap: id },
    { used: { recloning: other } },
    { kind: "wait" },
  ],
];
test.each(lone)("%s", (_, cluster, change, decision) => {
  expect(decideGroup(spec(cluster), facts(change))).toMatchObject(decision);
});

const joining: [string, Partial<GroupFacts>, object][] = [
  ["it joins through the members that are online", { others: group }, { kind: "join", through: [second, third] }],
  [
    "it joins through the only member that is online",
    { others: [view(second), view(third, { state: "error" })] },
    { kind: "join", through: [second] },
  ],
  [
    "while one of the group lets another one join, it waits",
    { others: [view(second), view(third, { invites: other })] },
    { kind: "wait" },
  ],
  [
    "while one of the group lets nobody join, it waits",
    { others: [view(second, { invites: undefined as never })] },
    { kind: "wait" },
  ],
  ["a view that is too old is not a group", { others: [view(second, { ageMs: 4000 })] }, { kind: "wait" }],
  [
    "while the group still counts it in, it waits",
    { others: [view(second, { online: [own, second] })] },
    { kind: "wait" },
  ],
  [
    "while the group has not expelled it, it waits",
    { others: [view(second, { listed: [own, second, third] })] },
    { kind: "wait" },
  ],
  ["while the group calls it the primary, it waits", { others: [view(second, { primary: own })] }, { kind: "wait" }],
  [
    "with errant transactions it does not join, and reports them",
    { others: group, errant: `${own}:1-3` },
    { kind: "errant", transactions: `${own}:1-3` },
  ],
  ["expelled, it leaves first", { others: group, own: being("error") }, { kind: "leave" }],
  ["while it joins, it waits", { others: group, own: being("recovering") }, { kind: "wait" }],
  [
    "while it joins a group without a donor, it leaves",
    { others: group, own: being("recovering", { hasDonor: false }) },
    { kind: "leave" },
  ],
  [
    "in the group its expel timeout is reset",
    { others: group, own: being("online", { isPatient: true }) },
    { kind: "arrive" },
  ],
  ["in the group it stays", { others: group, own: being("online") }, { kind: "stay" }],
];
const stayingOut: [string, Partial<GroupFacts>, object][] = [
  ["ordered to stay out, it joins no group", { others: group }, { kind: "wait" }],
  ["ordered to stay out, it leaves when expelled", { others: group, own: being("error") }, { kind: "leave" }],
  ["ordered to stay out, it does not leave its group", { others: group, own: being("online") }, { kind: "stay" }],
];
test.each(stayingOut)("%s", (_, change, decision) => {
  expect(decideGroup(spec({ stay_out: true }), facts(change))).toMatchObject(decision);
});

test.each(joining)("%s", (_, change, decision) => {
  expect(decideGroup(spec(), facts(change))).toMatchObject(decision);
});

/** The third member, next to a group that consists of the second only. */
const last = { node: third, cluster: spec().cluster };
const soleMember = view(second, { online: [second], listed: [second], invites: third });

test("a member that would be expelled again, because it cannot reach one of the group, does not join", () => {
  const others = [view(second, { listed: [own, second], invites: third })];
  expect(decideGroup(last, facts({ others }))).toMatchObject({ kind: "wait" });
});

const joinsAllTheSame: [string, MemberView[]][] = [
  ["although it cannot reach one that is out of the group", [soleMember, view(own, { ageMs: 8000 })]],
  [
    "when the host of one in the group answers, and only its gatekeeper does not",
    [view(second, { listed: [own, second], invites: third }), view(own, { ageMs: 8000, kept: true })],
  ],
];
test.each(joinsAllTheSame)("a member that is invited joins %s", (_, others) => {
  expect(decideGroup(last, facts({ others }))).toEqual({ kind: "join", through: [second] });
});

test("of two members that are out, at most one joins", () => {
  for (const invites of [own, third])
    expect(
      [spec(), last].filter((each) => {
        const [self, beside] = each.node === own ? [own, third] : [third, own];
        const others = [
          view(second, { online: [second], listed: [second], invites }),
          view(beside, { state: "offline", online: [] }),
        ];
        expect(self).toBe(each.node);
        return decideGroup(each, facts({ others })).kind === "join";
      }),
    ).toHaveLength(1);
});

const open = being("offline", { readOnly: false });
const recloning: [string, Partial<Cluster>, Partial<GroupFacts>, object][] = [
  ["it clones a secondary", { reclone: { id } }, { others: group, own: open }, { kind: "reclone", id, donor: third }],
  [
    "it clones the requested donor",
    { reclone: { id, donor: second } },
    { others: group, own: open },
    { donor: second },
  ],
  [
    "it clones the primary if there is no other donor",
    { reclone: { id, donor: third } },
    { others: [view(second)], own: open },
    { donor: second },
  ],
  ["without a donor it waits", { reclone: { id } }, { others: outOfGroup, own: open }, { kind: "wait" }],
  ["closed to writes, it is restarted", { reclone: { id } }, { others: group }, { kind: "restart" }],
  ["in the group, it leaves", { reclone: { id } }, { others: group, own: being("online") }, { kind: "leave" }],
  [
    "with errant transactions, it is re-cloned",
    { reclone: { id } },
    { others: group, own: open, errant: `${own}:1` },
    { kind: "reclone" },
  ],
  [
    "interrupted, it is repeated",
    { reclone: { id } },
    { others: group, own: open, used: { recloning: id } },
    { kind: "reclone", id },
  ],
  [
    "interrupted and no longer requested, it is repeated all the same",
    {},
    { others: group, own: open, used: { recloning: id } },
    { kind: "reclone", id },
  ],
  [
    "finished, it is not repeated",
    { reclone: { id } },
    { others: group, used: { recloning: id, recloned: id } },
    { kind: "join" },
  ],
  [
    "requested again after it finished, it is repeated",
    { reclone: { id: other } },
    { others: group, own: open, used: { recloning: id, recloned: id } },
    { id: other },
  ],
];
test.each(recloning)("re-clone: %s", (_, cluster, change, decision) => {
  expect(decideGroup(spec(cluster), facts(change))).toMatchObject(decision);
});

test("a member between its old and its cloned data has no history to report", () => {
  expect(isBetweenData({ recloning: id })).toBe(true);
  expect(isBetweenData({ recloning: other, recloned: id })).toBe(true);
  expect(isBetweenData({})).toBe(false);
  expect(isBetweenData({ recloning: id, recloned: id })).toBe(false);
});

test.each([
  ["a first re-clone", { reclone: { id } }, {}, true, id],
  ["a re-clone after another one", { reclone: { id } }, { recloning: other, recloned: other }, true, id],
  ["a node that never served has no data", { reclone: { id } }, {}, false, undefined],
  ["a re-clone that was begun gave them up", { reclone: { id } }, { recloning: id }, true, undefined],
  ["another re-clone that was begun gave them up", { reclone: { id } }, { recloning: other }, true, undefined],
  ["a re-clone that is done", { reclone: { id } }, { recloning: id, recloned: id }, true, undefined],
  ["no re-clone", {}, {}, true, undefined],
])("the data that a member would give up, %s", (_, orders, used, hasServed, expected) => {
  expect(dataGivenUp(spec(orders), { used, hasServed })).toBe(expected);
});

const online = being("online");
test("a member is made primary once per order, and only while it is in the group", () => {
  expect(decideGroup(spec({ make_primary: id }), facts({ own: online, others: group }))).toEqual({
    kind: "make_primary",
    id,
  });
  expect(
    decideGroup(spec({ make_primary: id }), facts({ own: online, others: group, used: { made_primary: id } })).kind,
  ).toBe("stay");
  expect(decideGroup(spec({ make_primary: id }), facts({ others: group })).kind).toBe("join");
});

test("a single node is never in a group", () => {
  expect(decideGroup({ node: own }, facts({ others: group })).kind).toBe("stay");
});

const ids = fc.option(fc.constantFrom(id, other), { nil: undefined });
const present = <T extends object>(value: T): Partial<{ [K in keyof T]: NonNullable<T[K]> }> =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never;
const anyUsed = fc
  .record({ bootstrapped: ids, recloning: ids, recloned: ids, made_primary: ids })
  .map((used): UsedIds => present(used));
const anyView = fc.record({
  node: fc.constantFrom(second, third),
  ageMs: fc.constantFrom(100, 5000),
  state: fc.constantFrom<MemberView["state"]>("online", "recovering", "offline", "error", "away"),
  online: fc.subarray([own, second, third]),
  writable: fc.boolean(),
});
const anyFacts = fc.record({
  own: fc.record({
    state: fc.constantFrom("online", "recovering", "offline", "error"),
    readOnly: fc.boolean(),
    isPatient: fc.boolean(),
    hasDonor: fc.boolean(),
  }),
  others: fc.array(anyView, { maxLength: 2 }),
  used: anyUsed,
  errant: fc.constantFrom("", `${own}:1`),
});
const anyOrder = fc
  .record({
    bootstrap: ids,
    make_primary: ids,
    reclone: ids.map((each) => (each === undefined ? undefined : { id: each })),
  })
  .map((order): Partial<Cluster> => present(order));

/** By action: what must hold for it, whatever the other facts are. */
const conditions: Record<string, (order: Partial<Cluster>, seen: GroupFacts, done: string) => boolean> = {
  bootstrap: (order, { own: self, others = [], used }, done) =>
    order.bootstrap === done &&
    used.bootstrapped !== done &&
    self.state === "offline" &&
    dueReclone(spec(order), used) === undefined &&
    !others.some(({ ageMs, state }) => ageMs < 3000 && ["online", "recovering"].includes(state)),
  reclone: (_, { own: self }) => self.state === "offline" && !self.readOnly,
  join: (_, { own: self, errant }) => self.state === "offline" && errant === "",
  make_primary: (order, { own: self, used }, done) =>
    order.make_primary === done && used.made_primary !== done && self.state === "online",
};

test("for all facts, no order is carried out twice or on a member that is not ready for it", () => {
  fc.assert(
    fc.property(anyOrder, anyFacts, (order, seen) => {
      const decision = decideGroup(spec(order), seen);
      const holds = conditions[decision.kind]?.(order, seen, "id" in decision ? decision.id : "");
      expect(holds ?? true).toBe(true);
    }),
    { numRuns: 5000 },
  );
});
