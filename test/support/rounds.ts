/** The factor by which long trials have more rounds than quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 1);

export const rounds = (quick: number): number => quick * times;

/** Returns one item of twenty, or of `every` so many, in quick tests, and all in long trials. */
export const sampled = <Item>(items: Iterable<Item>, every = 20): Item[] =>
  [...items].filter((_, i) => times > 1 || i % every === 0);
