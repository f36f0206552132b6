// Which members of objects the console edits, and what it sends.
import { describe, expect, it } from 'vitest';
import { editableText, sentText, serverOwned } from '../../admin/src/core/attributes.ts';

const all = new Set(['schema', 'attachments', 'signer']);

describe('Attributes in the editor', () => {
  const record = '{"id":"a","n":1.10,"schema":12,"attachment":{"size":1.0},"last_modified":5}';

  it('are without what the service maintains, which is sent as it was.', () => {
    const owned = serverOwned('record', record, all);
    expect(editableText(record, owned)).toBe('{\n  "n": 1.10\n}');
    expect(sentText('{"n":2.0,"attachment":"mine"}', record, owned)).toBe(
      '{"n":2.0,"schema":12,"attachment":{"size":1.0}}',
    );
  });

  it('are all members where no plugin maintains some of them.', () => {
    const owned = serverOwned('record', record, new Set());
    expect(owned).toEqual(['id', 'last_modified']);
    expect(sentText('{ "n" : 1 }', record, owned)).toBe('{ "n" : 1 }');
  });

  it('are without the state of a signed collection.', () => {
    const collection = '{"id":"c","schema":{},"status":"work-in-progress","last_edit_by":"x","last_editor":1}';
    expect(serverOwned('collection', collection, all)).toEqual(['id', 'last_modified', 'status', 'last_edit_by']);
    expect(serverOwned('collection', collection, new Set())).toEqual(['id', 'last_modified']);
  });
});
