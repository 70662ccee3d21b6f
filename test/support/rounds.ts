/** The factor of rounds, 0.4 in quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 0.4);

export const rounds = (count: number): number => Math.ceil(count * times);

/** Returns one item of 30, or of `every` so many, in quick tests, and all in long trials. */
export const sampled = <Item>(items: Iterable<Item>, every = 30): Item[] =>
  [...items].filter((_, i) => times > 1 || i % every === 0);
