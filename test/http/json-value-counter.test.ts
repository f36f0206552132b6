import { describe, expect, it } from 'vitest';
import { ResponseSizes } from '../../src/http/response-sizes.ts';
import { JsonValueCounter } from '../../src/http/json-value-counter.ts';

function count(text: string, pieceBytes = 1000): number {
  const bytes = Buffer.from(text);
  const values = new JsonValueCounter();
  for (let at = 0; at < bytes.length; at += pieceBytes) values.add(bytes.subarray(at, at + pieceBytes));
  return values.count;
}

describe('The count of values of a body', () => {
  it('is at least the number of values and names, and counts nothing in texts.', () => {
    expect(count('{}')).toBe(2);
    expect(count('[1,2,3]')).toBe(4);
    expect(count('{"a":[1,{"b":2}],"c":"x,y:{[\\"],"}')).toBe(9);
    expect(count('",,,,"')).toBe(1);
  });

  it('is the same wherever the body is cut into pieces.', () => {
    const text = '{"a\\\\":"\\"\\\\\\",[{","b":["语,",{"c":[]}],"d":"\\\\"}';
    const whole = count(text);
    for (let bytes = 1; bytes < 12; bytes++) expect(count(text, bytes)).toBe(whole);
  });
});

describe('The count of values next to a long string', () => {
  it.each(['x,', '\\"', 'x\\\\'])('is exact when the string repeats %s', (part) => {
    const text = `{"a":"${part.repeat(1000)}","b":[1,2]}`;
    const whole = count(text, text.length);
    expect(whole).toBe(count('{"a":"","b":[1,2]}'));
    for (const bytes of [1, 7, 64, 999]) expect(count(text, bytes)).toBe(whole);
  });
});

describe('The sizes of answers', () => {
  it('are remembered for large ones, by path, and fade with small ones.', () => {
    const sizes = new ResponseSizes(100);
    sizes.note('/small', 100);
    expect(sizes.expected('/small')).toBe(0);
    sizes.note('/large?x=1', 1000);
    expect(sizes.expected('/large?x=2')).toBe(1000);
    sizes.note('/large', 10);
    expect(sizes.expected('/large')).toBe(800);
    for (let time = 0; time < 10; time++) sizes.note('/large', 10);
    expect(sizes.expected('/large')).toBe(0);
  });

  it('forgets the oldest of many paths.', () => {
    const sizes = new ResponseSizes(100);
    for (let n = 0; n < 1001; n++) sizes.note(`/${n}`, 1000);
    expect([sizes.expected('/0'), sizes.expected('/1'), sizes.expected('/1000')]).toEqual([0, 1000, 1000]);
  });
});
