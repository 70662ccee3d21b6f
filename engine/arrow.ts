import * as arrow from "apache-arrow";
import type { Image } from "./image.ts";

/** A snapshot's rows as an Arrow table over the image's memory; nothing is copied. */
export function imageTable(image: Image): arrow.Table {
  const text = (offsets: Int32Array, bytes: Uint8Array) =>
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
    ccn: coded(image.facility, text(image.ccnOffsets, image.ccnBytes)),
    facility: coded(image.facility, text(image.facilityNameOffsets, image.facilityNameBytes)),
    city: coded(image.facility, text(image.cityOffsets, image.cityBytes)),
    state: coded(image.facility, text(image.stateOffsets, image.stateBytes)),
    procedure_code: coded(image.procedure, text(image.codeOffsets, image.codeBytes)),
    procedure_name: coded(image.procedure, text(image.procedureNameOffsets, image.procedureNameBytes)),
    submitted_charge_cents: amounts(image.charge, image.chargeValidity),
    medicare_allowed_cents: amounts(image.allowed, image.allowedValidity),
  });
}
