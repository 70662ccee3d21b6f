import { keyOf } from "./redis.ts";

/** Thresholds that accounts have crossed with what all replicas counted, as the script of the shares notes them, each once. */

/** What is used of a client of `ioredis`. */
interface StreamClient {
  xrange(
    key: string,
    from: string,
    to: string,
    count: "COUNT",
    most: number,
  ): Promise<[id: string, fields: string[]][]>;
  xdel(key: string, ...ids: string[]): Promise<number>;
}

interface Crossing {
  /** Where it is noted. */
  key: string;
  id: string;
  account: number;
  /** `YYYY-MM` */
  month: string;
  /** Percent of the quota. */
  threshold: number;
  quota: number;
  used: number;
}

const mostPerShard = 100;

/** Those that weren't forgotten yet. */
export async function crossings(client: StreamClient, shards: number): Promise<Crossing[]> {
  const keys = Array.from({ length: shards }, (_, shard) => keyOf(shard, "events"));
  const found = keys.map(async (key) =>
    (await client.xrange(key, "-", "+", "COUNT", mostPerShard)).map(([id, fields]) =>
      crossingOf(key, id, fields),
    ),
  );
  return (await Promise.all(found)).flat();
}

/** Once they are recorded elsewhere. */
export async function forget(client: StreamClient, known: readonly Crossing[]): Promise<void> {
  const byKey = Map.groupBy(known, ({ key }) => key);
  await Promise.all([...byKey].map(([key, each]) => client.xdel(key, ...each.map(({ id }) => id))));
}

function crossingOf(key: string, id: string, fields: readonly string[]): Crossing {
  const values = new Map(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : [])));
  const number = (name: string) => Number(values.get(name));
  return {
    ...{ key, id, account: number("account"), month: values.get("month") ?? "" },
    ...{ threshold: number("threshold"), quota: number("quota"), used: number("used") },
  };
}
