import * as arrow from "apache-arrow";
import type { TextColumn } from "./encode.ts";
import type { Image } from "./image.ts";

/**
 * A snapshot's rows as an Arrow table over the image's memory; nothing is copied. Columns share their codes, so an IPC
 * stream of it is right only as the chunks that Arrow's writer yields: where it joins them, as `tableToIPC` does, it
 * takes memory that two columns share for one, and the stream is short.
 */
export function imageTable(image: Image): arrow.Table {
  const text = ({ offsets, bytes }: TextColumn) =>
    arrow.makeVector(
      arrow.makeData({
        type: new arrow.Utf8(),
        length: offsets.length - 1,
        nullCount: 0,
        valueOffsets: offsets,
        data: bytes,
      }),
    );
  const coded = (codes: Int32Array, dictionary: arrow.Vector<arrow.Utf8>) =>
    arrow.makeVector(
      arrow.makeData({
        type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
        length: codes.length,
        nullCount: 0,
        data: codes,
        dictionary,
      }),
    );
  const amounts = (data: Int32Array, nullBitmap: Uint8Array) =>
    arrow.makeVector(arrow.makeData({ type: new arrow.Int32(), length: data.length, nullBitmap, data }));
  return new arrow.Table({
    ccn: coded(image.facility, text(image.ccn)),
    facility: coded(image.facility, text(image.facilityName)),
    city: coded(image.facility, text(image.city)),
    state: coded(image.facility, text(image.state)),
    procedure_code: coded(image.procedure, text(image.code)),
    procedure_name: coded(image.procedure, text(image.procedureName)),
    submitted_charge_cents: amounts(image.charge, image.chargeValidity),
    medicare_allowed_cents: amounts(image.allowed, image.allowedValidity),
  });
}
