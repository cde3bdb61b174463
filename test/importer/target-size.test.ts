import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { TargetError } from "../../importer/errors.ts";
import { errorText } from "../../importer/outcome.ts";
import {
  availableSpace,
  blankDiskSize,
  finalDiskSize,
  requiredSpace,
  requireRoom,
  sizeWarning,
  usableSpace,
} from "../../importer/target-size.ts";
import type { Volume } from "../../importer/target-size.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

function filesystem(free: number, requested: number | undefined, overhead = 0.06): Volume {
  return { kind: "filesystem", free, requested, overhead };
}

function block(capacity: number): Volume {
  return { kind: "block", capacity };
}

describe("usableSpace and requiredSpace", () => {
  // Golden: the controller that makes the claim calculates the same figures.
  const rows: readonly [overhead: number, input: number, usable: number | undefined, required: number | undefined][] = [
    [0.06, GIB, 1012924416, 1138166334],
    [0.06, 10 * GIB, 10129244160, 11381663335],
    [0.06, 1138166334, GIB, undefined],
    [0.06, 1138166333, GIB, undefined],
    [0.06, 100 * MIB, undefined, 111149056],
    [0.06, 22 * MIB, 20 * MIB, 24452793],
    [0.06, GIB + 1, undefined, 1139277824],
    [0.06, 1, 0, 1111491],
    [0.06, 500 * MIB, 493879296, undefined],
    [0.05, GIB, 1022361600, 1127428916],
    [0.5, 100 * MIB, undefined, 150 * MIB],
    [0, 1_000_000_000, 999292928, 1000341504],
    [0.06, 1095216660, 1032847360, undefined],
    [0.06, 24452793, 22 * MIB, undefined],
  ];
  for (const [overhead, input, usable, required] of rows) {
    it(`of ${input} at ${overhead}`, () => {
      if (usable !== undefined) assert.equal(usableSpace(overhead, input), usable);
      if (required !== undefined) assert.equal(requiredSpace(overhead, input), required);
    });
  }

  const overheads = fc.constantFrom(0, 0.06, 0.75);
  const sizes = fc.oneof(
    fc.integer({ min: 1, max: 2 ** 45 }),
    fc.integer({ min: 1, max: 2 ** 20 }),
    fc.integer({ min: 1, max: 2 ** 22 }).map((mebibytes) => mebibytes * MIB),
  );

  it("a volume of a disk and its overhead bears that disk and no larger one", () => {
    fc.assert(
      fc.property(overheads, sizes, (overhead, size) => {
        const rounded = Math.ceil(size / MIB) * MIB;
        assert.equal(usableSpace(overhead, Math.trunc((rounded + 1) * (1 + overhead))), rounded);
      }),
    );
  });

  it("what is required is enough, and less than a MiB too much", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), sizes, (overhead, size) => {
        const rounded = Math.ceil(size / MIB) * MIB;
        assert.equal(usableSpace(overhead, requiredSpace(overhead, size)), rounded);
      }),
    );
  });

  it("a scratch volume is sized after the disk that is usable on its target", () => {
    const scratch = (target: number, own: number, claim: number): number =>
      Math.ceil(requiredSpace(own, usableSpace(target, claim)) / MIB) * MIB;
    assert.equal(scratch(0.03, 0.03, GIB), 1024 * MIB);
    assert.equal(scratch(0.03, 0.1, GIB), 1094 * MIB);
    assert.equal(scratch(0.1, 0.03, GIB), 958 * MIB);
    assert.equal(scratch(0, 0.05, GIB), 1076 * MIB);
    assert.equal(scratch(0, 0, 1e9), 999292928);
  });
});

describe("availableSpace", () => {
  it("is a device's capacity, or the smaller of what is free and what was claimed", () => {
    assert.equal(availableSpace(block(12345)), 12345);
    assert.equal(availableSpace(filesystem(10, 20)), 10);
    assert.equal(availableSpace(filesystem(20, 10)), 10);
    assert.equal(availableSpace(filesystem(20, undefined)), 20);
    assert.equal(availableSpace(filesystem(20, 0)), 0);
  });
});

describe("finalDiskSize", () => {
  const rows: readonly [name: string, virtualSize: number, volume: Volume, size: number][] = [
    ["storage: 1Gi", 112 * MIB, filesystem(2 * GIB, 1138166334), GIB],
    ["storage: 1Gi, less free", 112 * MIB, filesystem(1095216660, 1138166334), 1032847360],
    ["pvc: 1Gi", 112 * MIB, filesystem(GIB, GIB), 966 * MIB],
    ["an image as large as its claim", GIB, filesystem(GIB, GIB), GIB],
    ["a device", 112 * MIB, block(GIB), 112 * MIB],
    ["22Mi with an image of 18 MiB", 18 * MIB, filesystem(GIB, 24452793), 22 * MIB],
    ["no claim's size", 18 * MIB, filesystem(GIB, undefined), 18 * MIB],
    ["100Mi", 8 * MIB, filesystem(GIB, 100 * MIB), 98566144],
    ["11Gi", 112 * MIB, filesystem(100 * GIB, 11 * GIB), 11142168576],
    ["no overhead, odd claim", 1000, filesystem(GIB, 100 * MIB + 1, 0), 100 * MIB],
  ];
  for (const [name, virtualSize, volume, size] of rows) {
    it(name, () => {
      requireRoom(virtualSize, volume);
      assert.equal(finalDiskSize(virtualSize, volume), size);
    });
  }
});

describe("blankDiskSize", () => {
  it("is what a filesystem bears, whether reserved or not", () => {
    for (const preallocation of [false, true]) {
      assert.equal(blankDiskSize(filesystem(GIB, 100 * MIB), preallocation), 98566144);
      assert.equal(blankDiskSize(filesystem(100 * MIB, GIB), preallocation), 98566144);
    }
  });

  it("is nothing on a device, or what was claimed of it", () => {
    assert.equal(blankDiskSize(block(GIB), false, MIB), 0);
    assert.equal(blankDiskSize(block(GIB), true, MIB), MIB);
    assert.equal(blankDiskSize(block(GIB), true, 2 * GIB), GIB);
    assert.equal(blankDiskSize(block(GIB), true), GIB);
  });
});

describe("sizeWarning", () => {
  it("names both figures where less is free than was claimed", () => {
    assert.match(sizeWarning(filesystem(1095216660, 1138166334)) ?? "", /1095216660.*1138166334/);
    assert.equal(sizeWarning(filesystem(GIB, GIB)), undefined);
    assert.equal(sizeWarning(filesystem(GIB, undefined)), undefined);
    assert.equal(sizeWarning(block(1)), undefined);
  });
});

describe("requireRoom", () => {
  it("says which claim would work, after the words that others look for", () => {
    const rows: readonly [size: number, volume: Volume, text: string][] = [
      [
        17592186044416,
        filesystem(500 * MIB, 100 * MIB),
        "virtual image size 17592186044416 is larger than the reported available storage 104857600. A larger PVC is required: " +
          "the volume has 524288000 bytes free of 104857600 claimed, 98566144 usable at an overhead of 0.06, " +
          "17592081186816 more are needed, and a claim of 17783849Mi would work",
      ],
      [
        10737418240,
        block(268435456),
        "virtual image size 10737418240 is larger than the reported available storage 268435456. A larger PVC is required: " +
          "the volume has 268435456 bytes, all usable, 10468982784 more are needed, and a claim of 10240Mi would work",
      ],
      // An ext4 takes a fifth of so small a volume, and of a larger one not more.
      [
        64 * MIB,
        filesystem(28385280, 35567698),
        "virtual image size 67108864 is larger than the reported available storage 28385280. A larger PVC is required: " +
          "the volume has 28385280 bytes free of 35567698 claimed, 26214400 usable at an overhead of 0.06, " +
          "38723584 more are needed, and a claim of 81Mi would work",
      ],
      [
        MIB,
        filesystem(1000, undefined, 0),
        "virtual image size 1048576 is larger than the reported available storage 1000. A larger PVC is required: " +
          "the volume has 1000 bytes free, 0 usable at an overhead of 0, 1047576 more are needed, and a claim of 1Mi would work",
      ],
    ];
    for (const [size, volume, text] of rows) {
      assert.throws(
        () => requireRoom(size, volume),
        (error) => error instanceof TargetError && error.code === "TARGET_TOO_SMALL" && errorText(error) === text,
        text,
      );
    }
  });

  it("speaks of the least where a stream has not ended yet", () => {
    const text =
      "virtual image size of at least 2097152 is larger than the reported available storage 1048576. A larger PVC is required: " +
      "the volume has 1048576 bytes, all usable, at least 1048576 more are needed, and a claim of at least 2Mi would work";
    assert.throws(
      () => requireRoom(2 * MIB, block(MIB), "at least"),
      (error) => error instanceof TargetError && errorText(error) === text,
    );
    requireRoom(MIB, block(MIB), "at least");
  });

  it("names a claim of whole MiB, and it works", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.double({ min: 0, max: 0.9, noNaN: true }),
        (size, overhead) => {
          const claim = claimNamed(size, filesystem(0, 0, overhead));
          assert.ok(finalDiskSize(size, filesystem(claim, claim, overhead)) >= size);
          assert.ok(usableSpace(overhead, claim) >= size);
          requireRoom(size, filesystem(claim, claim, overhead));
          const onDevice = claimNamed(size, block(0));
          assert.ok(onDevice >= size && onDevice < size + MIB);
        },
      ),
    );
  });
});

function claimNamed(size: number, volume: Volume): number {
  try {
    requireRoom(size, volume);
  } catch (error) {
    assert.ok(error instanceof TargetError);
    return Number(/^(\d+)Mi$/.exec(String(error.context["claim"]))?.[1]) * MIB;
  }
  return assert.fail("it fits");
}
