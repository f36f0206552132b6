// Advice for bodies without the envelope: short, whatever the body is.
import { expect, it } from 'vitest';
import { describeUnknownMembers } from '../../src/engine/envelope-advice.ts';

it('reads few members of a body that has a hundred thousand', () => {
  const names = Array.from({ length: 100_000 }, (_, index) => `m${index}`);
  let reads = 0;
  const body = new Proxy(Object.fromEntries(names.map((name) => [name, 1])), {
    get(target, name, receiver): unknown {
      reads++;
      return Reflect.get(target, name, receiver);
    },
  });
  const text = describeUnknownMembers(body, names);
  expect(text).toContain('Put attributes in "data": {"data": {"m0": 1, "m1": 1, "m2": 1, "m3": 1, "m4": 1, …}}');
  expect(reads).toBeLessThan(100);
});

it('masks secrets, and keeps members of the sent data', () => {
  const body = { password: 'hunter2', data: { id: 'ann', password: 'hunter3' } };
  expect(describeUnknownMembers(body, ['password', 'email'], ['password'])).not.toContain('hunter');
  expect(describeUnknownMembers(body, ['password'], ['password'])).toContain('{"id": "ann", "password": "…"}');
});
