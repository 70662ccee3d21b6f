const digitBits = 11;
const buckets = 1 << digitBits;

export function identityOrder(length: number): Uint32Array<ArrayBuffer> {
  const order = new Uint32Array(length);
  for (let i = 0; i < length; i++) order[i] = i;
  return order;
}

/**
 * Sorts positions by their non-negative `keys[position]`, with a stable radix sort in O(n). Returns a new array. To
 * sort by several columns, call the function once per column, least significant first.
 */
export function stableOrder(
  keys: Int32Array | Uint32Array,
  order: Uint32Array<ArrayBuffer>,
): Uint32Array<ArrayBuffer> {
  let highest = 0;
  for (let i = 0; i < order.length; i++) highest = Math.max(highest, keys[order[i]]);

  let from = order;
  let to = new Uint32Array(order.length);
  let spare: Uint32Array<ArrayBuffer> | undefined;
  const starts = new Uint32Array(buckets);
  for (let shift = 0; shift < 32 && highest >>> shift > 0; shift += digitBits) {
    starts.fill(0);
    for (let i = 0; i < from.length; i++) starts[(keys[from[i]] >>> shift) & (buckets - 1)]++;
    let start = 0;
    for (let digit = 0; digit < buckets; digit++) {
      const count = starts[digit];
      starts[digit] = start;
      start += count;
    }
    for (let i = 0; i < from.length; i++) to[starts[(keys[from[i]] >>> shift) & (buckets - 1)]++] = from[i];
    spare ??= new Uint32Array(order.length);
    [from, to] = [to, from === order ? spare : from];
  }
  return from === order ? order.slice() : from;
}

export function taken(column: Int32Array, positions: Int32Array | Uint32Array): Int32Array {
  const values = new Int32Array(positions.length);
  for (let i = 0; i < positions.length; i++) values[i] = column[positions[i]];
  return values;
}
