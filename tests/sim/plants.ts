import type { ObservedMember } from "../../packages/control-plane/src/databases/clusters/member-condition.ts";
import type { Rules } from "./rules.ts";

export type Plant<Decisions> = {
  name: string;
  /** Finds it, and is tried first. Another one does after a change of the simulation. */
  seed?: number;
  /** The changed decisions. */
  plant: (shipped: Decisions) => Partial<Decisions>;
};

const own = (term: number | undefined): number => term ?? 0;

const withoutTerms = (members: readonly ObservedMember[]): ObservedMember[] =>
  members.map((member) => {
    if (member.report === null) return member;
    const { last_term: _, ...report } = member.report;
    return { ...member, report };
  });

/** Defects of one line each, in shipped decisions. The simulation must find every one of them. */
export const plants: readonly Plant<Rules>[] = [
  {
    name: "proxy: a primary's own word is enough",
    plant: ({ mayBePrimary }) => ({
      mayBePrimary: (node, views) =>
        mayBePrimary(node, views) ||
        views.some((view) => view.node === node && view.role === "primary" && view.writable && view.ageMs < 2000),
    }),
  },
  {
    name: "proxy: a view is believed for two minutes",
    plant: ({ mayBePrimary }) => ({
      mayBePrimary: (node, views) =>
        mayBePrimary(
          node,
          views.map((view) => ({ ...view, ageMs: Math.max(0, view.ageMs - 120_000) })),
        ),
    }),
  },
  {
    name: "gatekeeper: views of all terms have one name",
    plant: ({ readFollowing }) => ({
      readFollowing: (rows, file) => {
        const { view, ...rest } = readFollowing(rows, file);
        return view === undefined ? rest : { ...rest, view: file.group };
      },
    }),
  },
  {
    name: "agent: opens though no other host knows its term",
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) =>
        decideFollowing(spec, { ...facts, terms: [...facts.terms, own(spec.cluster?.primary?.term)] }),
    }),
  },
  {
    name: "agent: ignores the newer terms of other hosts",
    seed: 19,
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) =>
        decideFollowing(spec, {
          ...facts,
          terms: facts.terms.map((term) => Math.min(term, own(spec.cluster?.primary?.term))),
        }),
    }),
  },
  {
    name: "agent: replicates without comparing what it has",
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) =>
        decideFollowing(spec, facts.errant === undefined ? facts : { ...facts, errant: "" }),
    }),
  },
  {
    name: "agent: compares with a report from before it stopped growing",
    plant: () => ({ comparedErrant: (missing) => missing }),
  },
  {
    name: "agent: opens at once after a forced promotion",
    seed: 79,
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) => {
        const decision = decideFollowing(spec, facts);
        return decision.kind === "open" ? { ...decision, afterMs: 0 } : decision;
      },
    }),
  },
  {
    name: "agent: opens without the transactions of members that are ahead",
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) => decideFollowing(spec, { ...facts, stalledMs: Infinity }),
    }),
  },
  {
    name: "agent: takes over before the old primary has closed",
    seed: 8,
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) => {
        const { cluster } = spec;
        if (cluster?.primary?.reason !== "handover") return decideFollowing(spec, facts);
        return decideFollowing(
          { ...spec, cluster: { ...cluster, primary: { ...cluster.primary, reason: "fenced" } } },
          facts,
        );
      },
    }),
  },
  {
    name: "agent: a primary stays open in the next term",
    plant: ({ decideFollowing }) => ({
      decideFollowing: (spec, facts) => {
        const decision = decideFollowing(spec, facts);
        return decision.kind === "close" && spec.cluster?.primary?.node !== spec.node ? { kind: "stay" } : decision;
      },
    }),
  },
  {
    name: "agent: starts a primary that it has fenced",
    seed: 9,
    plant: ({ decideFollowing }) => ({
      isFenced: () => false,
      diedAsPrimary: (spec, used, boot) =>
        used.opened?.boot === boot && own(used.fenced) < own(spec.cluster?.primary?.term),
      decideFollowing: (spec, { used: { fenced: _, ...used }, ...facts }) => decideFollowing(spec, { ...facts, used }),
    }),
  },
  {
    name: "agent: reports a fence that is not on its disk",
    plant: ({ termsOf }) => ({
      termsOf: (spec, used) => ({ ...termsOf(spec, used), fenced: own(used.opened?.term) }),
    }),
  },
  {
    name: "agent: reports a GTID set while it still receives",
    plant: ({ transactionsOf }) => ({
      transactionsOf: (spec, seen, decision, saved) =>
        transactionsOf(spec, { ...seen, views: undefined, own: { ...seen.own, receiving: "off" } }, decision, saved),
    }),
  },
  {
    name: "agent: a re-cloned server keeps its uuid",
    seed: 9,
    plant: ({ markOf }) => ({ markOf: (node) => markOf(node, undefined) }),
  },
  {
    name: "control plane: the member with the least is promoted",
    plant: ({ judgeCluster }) => ({
      judgeCluster: (cluster, settings) => {
        const health = judgeCluster(cluster, settings);
        const { next } = health;
        const other = cluster.members.find(
          ({ node, report }) =>
            next.do === "promote" && ![next.node, cluster.asynch?.primary?.node].includes(node) && report?.gtid,
        );
        if (next.do !== "promote" || other === undefined) return health;
        return { ...health, next: { ...next, node: other.node, ordinal: other.ordinal } };
      },
    }),
  },
  {
    name: "control plane: the number of transactions alone decides",
    plant: ({ judgeCluster, chooseSuccessor }) => ({
      judgeCluster: (cluster, settings) =>
        judgeCluster({ ...cluster, members: withoutTerms(cluster.members) }, settings),
      chooseSuccessor: (members, primary, archived) => chooseSuccessor(withoutTerms(members), primary, archived),
    }),
  },
  {
    name: "control plane: a silent primary is given up",
    plant: ({ judgeCluster }) => ({
      judgeCluster: (cluster, settings) =>
        judgeCluster(
          {
            ...cluster,
            members: cluster.members.map(({ host, ...member }) => ({
              ...member,
              host: { ...host, dead: host.silentSeconds > 5 && member.node === cluster.asynch?.primary?.node },
            })),
          },
          settings,
        ),
    }),
  },
  {
    name: "control plane: a member is re-cloned before its transactions are saved",
    plant: ({ judgeCluster }) => ({
      judgeCluster: (cluster, settings) =>
        judgeCluster(
          {
            ...cluster,
            members: cluster.members.map((member) => {
              const { report } = member;
              if (report?.errant === undefined) return member;
              const saved_errant = { name: "lost/0", gtid: report.errant, bytes: 0, sha256: "" };
              return { ...member, unhealthySeconds: 60, report: { ...report, saved_errant } };
            }),
          },
          settings,
        ),
    }),
  },
  {
    name: "control plane: a member with errant transactions is promoted",
    plant: ({ judgeCluster }) => ({
      judgeCluster: (cluster, settings) =>
        judgeCluster(
          {
            ...cluster,
            members: cluster.members.map((member) => {
              if (member.report === null) return member;
              const { errant: _, ...report } = member.report;
              return { ...member, report };
            }),
          },
          settings,
        ),
    }),
  },
  {
    name: "control plane: a promotion that was not carried out stays",
    plant: ({ judgeCluster }) => ({
      judgeCluster: (cluster, settings) =>
        judgeCluster(
          cluster.asynch === undefined ? cluster : { ...cluster, asynch: { ...cluster.asynch, termSeconds: 0 } },
          settings,
        ),
    }),
  },
  {
    name: "control plane: a tenant may promote over a primary that serves",
    seed: 13,
    plant: ({ primaryToReplace }) => ({
      primaryToReplace: (members, primary) =>
        members.find(({ node }) => node === primary?.node) ?? primaryToReplace(members, primary),
    }),
  },
  {
    name: "control plane: a late handover counts as done",
    seed: 19,
    plant: ({ outcomeOfHandOver }) => ({
      outcomeOfHandOver: (primary, requested) =>
        primary?.reason === "handover" ? { confirm: primary } : outcomeOfHandOver(primary, requested),
    }),
  },
];
