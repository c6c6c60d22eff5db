import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, fitted, readAddress, Store, type ViewState, writeAddress } from "../src/state.ts";

const full: ViewState = {
  variable: 3,
  shown: 74,
  evidence: new Map([
    [1, 0],
    [5, 2],
  ]),
  compare: true,
};

test("an address carries the state there and back", () => {
  assert.equal(writeAddress(full), "#v=3&k=74&e=1:0,5:2&c=1");
  assert.deepEqual(readAddress(writeAddress(full)), full);
  assert.equal(writeAddress(EMPTY), "");
  assert.deepEqual(readAddress(""), EMPTY);
});

test("zero is a value, and numbers may have fractions", () => {
  const state: ViewState = { variable: 0, shown: 0, evidence: new Map([[0, -1.5]]), compare: false };
  assert.deepEqual(readAddress(writeAddress(state)), state);
});

test("what cannot be read is ignored", () => {
  for (const hash of ["#v=x&k=-3&e=a:b,,:,4&c=yes", "#%%%", "#v=1e9&k=", "#v=99999999999", "#e=3:"]) {
    assert.deepEqual(readAddress(hash), EMPTY, hash);
  }
});

test("a state is fitted to the document", () => {
  const evidence = new Map([
    [0, 1],
    [1, 7],
    [2, 0.5],
    [9, 0],
  ]);
  const state = fitted({ ...full, variable: 12, evidence }, [2, 2, 0], 3);
  assert.equal(state.variable, null);
  assert.deepEqual(
    [...state.evidence],
    [
      [0, 1],
      [2, 0.5],
    ],
  );
});

test("a store tells its listeners what was and what is", () => {
  const store = new Store(EMPTY);
  const seen: [number | null, number | null][] = [];
  store.listen((now, before) => seen.push([before.variable, now.variable]));
  store.update({ variable: 4 });
  store.update({ shown: 2 });
  assert.deepEqual(seen, [
    [null, 4],
    [4, 4],
  ]);
  assert.deepEqual(store.state, { ...EMPTY, variable: 4, shown: 2 });
});
