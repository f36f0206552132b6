// Random uploads of files, what is wrong with them now and then, and all that one does with a file afterwards.
import fc from 'fast-check';
import { bodyFor, content } from './bodies.ts';
import type { FormPart } from './exchange.ts';
import { isMap, member } from './json.ts';
import type { Sketch } from './sketch.ts';

const files = fc.constantFrom<FormPart>(
  { name: 'attachment', filename: 'a.txt', type: 'text/plain', value: 'a' },
  { name: 'attachment', filename: 'a.txt', type: 'text/plain', value: 'b' },
  { name: 'attachment', filename: 'é.json', type: 'application/json', value: { n: 1 } },
  { name: 'attachment', filename: 'untitled', type: 'text/plain', value: [] },
);

/** The body of a client that tries to read the file of another user. */
const stolen = { filename: 'a.txt', location: '{location}', hash: '', mimetype: 'text/plain', size: 1 };

/** Each makes a form that is refused. */
const faults: readonly ((parts: readonly FormPart[]) => readonly FormPart[])[] = [
  (parts) => parts.slice(1),
  (parts) => [...parts, { name: 'more', value: 1 }],
  (parts) => [...parts, { name: 'data', filename: 'data.json', type: 'application/json', value: {} }],
  (parts) => [...parts, { name: 'permissions', text: 'none' }],
  (parts) => [...parts, { name: 'permissions', value: [] }],
  (parts) => [{ ...parts[0]!, filename: 'a.exe' }, ...parts.slice(1)],
  (parts) => [{ ...parts[0]!, filename: '' }, ...parts.slice(1)],
  (parts) => [{ ...parts[0]!, value: 'longer than files may be' }, ...parts.slice(1)],
];

/** Requests about the file of one record. */
export function aboutFile(
  record: fc.Arbitrary<string>,
  headers: fc.Arbitrary<Readonly<Record<string, string>>>,
): fc.Arbitrary<Sketch> {
  return fc
    .record({
      record,
      headers,
      file: files,
      content,
      pick: fc.nat(40),
      forged: fc.constantFrom<Sketch['body']>({ filename: 'mine' }, {}, null, 1, stolen),
    })
    .map(({ record: path, headers: given, file, content: body, pick, forged }): Sketch => {
      if (pick < 14) return upload(path, given, formFor(file, body, pick));
      if (pick < 20) return { method: 'DELETE', path: `${path}/attachment`, headers: given };
      if (pick < 28)
        return {
          method: pick === 20 ? 'HEAD' : 'GET',
          path: `${path.replace('/buckets/', '/attachments/').replace(/\/(?:collections|records)\//g, '/')}/{file}`,
        };
      if (pick === 28) return { method: 'GET', path: `${path}/attachment` };
      if (pick === 29) return { method: 'POST', path: `${path}/attachment`, body: {} };
      return { method: pick < 35 ? 'PATCH' : 'PUT', path, headers: given, body: { data: { attachment: forged! } } };
    });
}

function upload(path: string, headers: Sketch['headers'], form: readonly FormPart[]): Sketch {
  return { method: 'POST', path: `${path}/attachment`, ...(headers === undefined ? {} : { headers }), form };
}

function formFor(file: FormPart, given: Parameters<typeof bodyFor>[1], pick: number): readonly FormPart[] {
  if (pick < 7) {
    const body = bodyFor('record', given, false) ?? {};
    const fields = ['data', 'permissions'].flatMap((name): FormPart[] => {
      const value = isMap(body) ? member(body, name) : undefined;
      return isMap(value) ? [{ name, value }] : [];
    });
    return [file, ...fields];
  }
  return pick < 10 ? [file] : faults[(given.shape + pick) % faults.length]!([file]);
}
