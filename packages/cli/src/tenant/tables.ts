import type { DatabaseType, MetricSeries } from "@moorage/contract";
import type { Row } from "../output.ts";

/** Columns of lists for which the filterable fields are not what people look for. */
export const columnsOfList: Readonly<Record<string, readonly string[]>> = {
  listEvents: ["id", "created", "action", "entity.type", "entity.label", "status", "percent_complete", "username"],
  listPersonalTokens: ["id", "label", "scopes", "created", "expiry", "token"],
};

/** Lists whose cells are computed from the fields. */
export const rowsOfList: Readonly<Record<string, (item: never) => Row>> = {
  listDatabaseTypes: ({ id, label, vcpus, memory, disk, engines }: DatabaseType) => ({
    id,
    label,
    vcpus,
    "memory MB": memory,
    "disk MB": disk,
    ...Object.fromEntries(
      engines.mysql.map(({ quantity, price }) => [
        `${quantity} ${quantity === 1 ? "node" : "nodes"} per month`,
        price.monthly,
      ]),
    ),
  }),
} satisfies Record<string, (item: never) => Row>;

/** Objects that are shown as a table. */
export const rowsOfObject: Readonly<Record<string, (object: never) => Row[]>> = {
  viewMysqlMetric: ({ series, unit }: MetricSeries) => {
    const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
    return times.map((at) => ({
      time: new Date(at * 1000).toISOString().slice(0, 19),
      ...Object.fromEntries(
        series.map(({ node, points }) => [
          series.length === 1 ? unit : `${unit} ${node}`,
          points.find(([time]) => time === at)?.[1] ?? null,
        ]),
      ),
    }));
  },
};
