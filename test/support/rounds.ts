/** The factor of rounds, 0.5 in quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 0.5);

export const rounds = (count: number): number => Math.ceil(count * times);

/** Returns one item of twenty, or of `every` so many, in quick tests, and all in long trials. */
export const sampled = <Item>(items: Iterable<Item>, every = 20): Item[] =>
  [...items].filter((_, i) => times > 1 || i % every === 0);
