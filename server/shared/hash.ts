/** Hashes texts, quickly and not securely. */

const seed = 0x811c9dc5;
const prime = 0x01000193;

/**
 * Fowler, Noll and Vo's hash 1a of a text, going on from that of what stands before. A changed letter always changes it.
 *
 * @returns a 32-bit whole number
 */
export function hashOf(text: string, before = seed): number {
  let hash = before;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime);
  return hash;
}
