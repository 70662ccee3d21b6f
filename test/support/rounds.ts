/** Long trials have so many times the rounds of quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 1);

export const rounds = (quick: number): number => quick * times;
