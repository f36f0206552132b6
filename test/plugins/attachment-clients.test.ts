// Attachments with kinto.js, the JavaScript client.
import { KintoClient } from 'kinto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';
import { FileFolder, sha256 } from '../support/attachments.ts';

/** Returns a file as a data URL, as a browser reads it. */
function dataUrl(content: string, type: string, name?: string): string {
  const named = name === undefined ? '' : `;name=${name}`;
  return `data:${type}${named};base64,${Buffer.from(content).toString('base64')}`;
}

describe('kinto.js', () => {
  let folder: FileFolder;
  let service: TestService;

  beforeAll(async () => {
    folder = await FileFolder.create();
    service = await startTestService({
      settings: { includes: 'default_bucket kinto_attachment', 'attachment.base_path': folder.path },
    });
  });
  afterAll(async () => {
    await service.close();
    await folder.remove();
  });

  // The types of the client require more than its functions.
  const collection = (): any => {
    const headers = { Authorization: authorizationOf('alice') };
    return new KintoClient(`${service.origin}/v1`, { headers }).bucket('default').collection('posts');
  };

  it('adds an attachment to a new record, with data and permissions.', async () => {
    const added = await collection().addAttachment(
      dataUrl('hello', 'text/plain', 'my file.txt'),
      { id: 'r1', title: 'Post' },
      { permissions: { write: ['carol'] } },
    );
    expect(added).toMatchObject({
      data: { id: 'r1', title: 'Post', attachment: { mimetype: 'text/plain', size: 5, hash: sha256('hello') } },
      permissions: { write: expect.arrayContaining(['carol']) },
    });
    expect(folder.names).toHaveLength(1);
    const response = await fetch(new URL(String(added.data.attachment['location']), service.origin), {
      headers: { Authorization: authorizationOf('alice') },
    });
    expect(await response.text()).toBe('hello');
  });

  it('adds one without a name, and one with a given name.', async () => {
    const unnamed = await collection().addAttachment(dataUrl('x', 'image/png'));
    expect(unnamed.data.attachment).toMatchObject({ filename: 'untitled', mimetype: 'image/png' });
    const options = { filename: 'mine.dat.txt' };
    const named = await collection().addAttachment(dataUrl('x', 'text/plain'), {}, options);
    expect(named.data.attachment).toMatchObject({ filename: 'mine.dat.txt' });
  });

  it('replaces an attachment with a precondition, and gets 412 if it is outdated.', async () => {
    const safely = { safe: true };
    const first = await collection().addAttachment(dataUrl('1', 'text/plain'), { id: 'r2' }, safely);
    const again = collection().addAttachment(dataUrl('2', 'text/plain'), { id: 'r2' }, safely);
    await expect(again).rejects.toThrow(/412/);
    const { id, last_modified } = first.data;
    const second = await collection().addAttachment(dataUrl('2', 'text/plain'), { id, last_modified }, safely);
    expect(second.data.attachment).toMatchObject({ hash: sha256('2') });
    await expect(collection().addAttachment(dataUrl('3', 'text/plain'), { id, last_modified }, safely)).rejects.toThrow(
      /412/,
    );
  });

  it('removes an attachment.', async () => {
    const before = folder.names.length;
    await collection().addAttachment(dataUrl('1', 'text/plain'), { id: 'r3' });
    await collection().removeAttachment('r3');
    const { data } = await collection().getRecord('r3');
    expect(data.attachment).toBeNull();
    expect(folder.names).toHaveLength(before);
  });

  it('deletes records with their attachments.', async () => {
    await collection().deleteRecords();
    expect(folder.names).toEqual([]);
  });
});
