import type { Plant } from "../plants.ts";
import { nodeOf } from "../world.ts";
import type { GroupRules } from "./rules.ts";

/** Defects of one line each, in shipped decisions about a group. */
export const groupPlants: readonly Plant<GroupRules>[] = [
  {
    name: "group: a permission to bootstrap is used again",
    seed: 17,
    plant: ({ decideGroup }) => ({
      decideGroup: (spec, facts) => decideGroup(spec, { ...facts, used: { ...facts.used, bootstrapped: undefined } }),
    }),
  },
  {
    name: "group: two of three members are asked before a bootstrap",
    seed: 13,
    plant: () => ({
      membersToCount: (members) => members.filter(({ report }) => report?.gtid !== undefined).slice(0, 2),
    }),
  },
  {
    name: "group: the member with the least bootstraps",
    seed: 1,
    plant: ({ nextOfBootstrap }) => ({
      nextOfBootstrap: (members, counted) => {
        const next = nextOfBootstrap(members, counted);
        const least = [...counted].sort(
          (a, b) =>
            (a.report?.gtid ?? "").length - (b.report?.gtid ?? "").length ||
            (a.report?.gtid ?? "").localeCompare(b.report?.gtid ?? ""),
        )[0];
        return next.do === "bootstrap" && least !== undefined ? { ...next, node: least.node } : next;
      },
    }),
  },
  {
    name: "group: a bootstrap is ordered by reports of any age, and nobody stays out of groups",
    seed: 11,
    plant: ({ decideGroup }) => ({
      isSeen: () => true,
      decideGroup: ({ node, cluster }, facts) =>
        decideGroup({ node, cluster: cluster && { ...cluster, stay_out: undefined } }, facts),
    }),
  },
  {
    name: "group: a group without a majority is replaced by a new one",
    seed: 3,
    plant: ({ judgeCluster, nextOfBootstrap }) => ({
      judgeCluster: (cluster, settings) => {
        const health = judgeCluster(cluster, settings);
        return cluster.members.some(({ report }) => report?.gtid !== undefined) && health.next.do === "wait"
          ? { ...health, next: { do: "bootstrap" } }
          : health;
      },
      nextOfBootstrap: (members) =>
        nextOfBootstrap(
          members,
          members.filter(({ report }) => report?.gtid !== undefined),
        ),
    }),
  },
  {
    name: "group: a member stays in a group that has expelled it",
    seed: 1,
    plant: ({ decideGroup }) => ({
      decideGroup: (spec, facts) =>
        facts.own.state === "error" ? { kind: "wait", for: "" } : decideGroup(spec, facts),
    }),
  },
  {
    name: "group: nobody is invited",
    seed: 1,
    plant: () => ({ chooseInvite: () => undefined }),
  },
  {
    name: "group: a member that is out of its group reports no transactions",
    seed: 1,
    plant: () => ({ transactionsOf: () => ({}) }),
  },
  {
    name: "group: a member that is online counts as out of its group",
    seed: 1,
    plant: ({ placeOf }) => ({ placeOf: (spec, seen) => ({ ...placeOf(spec, seen), shared: false }) }),
  },
  {
    name: "group: a proxy forwards to its first primary only",
    seed: 6,
    plant: ({ mayBePrimary }) => ({
      mayBePrimary: (member, views) => member === nodeOf(0) && mayBePrimary(member, views),
    }),
  },
];
