/** The factor by which long trials have more rounds than quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 1);

export const rounds = (quick: number): number => quick * times;
