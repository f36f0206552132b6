// The file of a record in the console: drag and drop, progress, previews, replacement, and refusals in words.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { collection, collectionView, describeConsole, hostile } from './stage.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'coffer-console-'));
const settings = {
  includes: 'admin history attachments',
  'attachment.base_path': folder,
  'attachment.resources.kitchen.recipes.max_size_bytes': '3000000',
  experimental_collection_schema_validation: 'true',
};
const recordView = `${collectionView}/records/bread`;
const view = `${recordView}?_tab=file`;
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface Chosen {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

function fileOf(name: string, mimeType: string, content: string | Buffer): Chosen {
  return { name, mimeType, buffer: Buffer.from(content) };
}

afterAll(() => rmSync(folder, { recursive: true }));

describeConsole('Files in the console', { settings }, (stage) => {
  const text = (content: string) => stage.page.getByText(content, { exact: true });
  const choose = (file: Chosen): Promise<void> => stage.page.getByLabel(/^Choose a/).setInputFiles(file);
  const refusal = (content: string): Promise<void> => stage.page.getByRole('alert').getByText(content).waitFor();

  /** Drops files on the middle of the view, as from a folder. */
  async function drop(target: string, files: readonly Chosen[]): Promise<void> {
    const { page } = stage;
    const carried = files.map(({ name, mimeType, buffer }) => [name, mimeType, buffer.toString()]);
    const transfer = await page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      for (const [name, type, content] of ${JSON.stringify(carried)}) data.items.add(new File([content], name, { type }));
      return data;
    })()`);
    await page.dispatchEvent(target, 'dragover', { dataTransfer: transfer });
    await page.locator('.drop-area.over').waitFor();
    await page.dispatchEvent(target, 'drop', { dataTransfer: transfer });
    await page.locator('.drop-area.over').waitFor({ state: 'detached' });
  }

  beforeEach(async () => {
    await stage.store({ bread: '{"title":"Bread"}' });
    await stage.visitor.signIn('alice');
  });

  it('stores, previews, downloads, replaces and deletes a text.', async () => {
    const { page, visitor } = stage;
    await visitor.go(view);
    await text('This record has no file.').waitFor();
    await stage.checkView('file-none');
    await choose(fileOf('note.txt', 'text/plain', `flour and water ${hostile}`));
    await stage.status('The file is stored.');
    await page.getByText(`text/plain, ${16 + hostile.length} bytes`).waitFor();
    await page.getByRole('region', { name: 'Preview of note.txt' }).getByText(hostile).waitFor();
    expect(await page.locator('#app .preview script, #app .preview img').count()).toBe(0);
    await stage.checkView('file-text');
    const [download] = await Promise.all([page.waitForEvent('download'), stage.press('Download note.txt')]);
    expect(download.suggestedFilename()).toBe('note.txt');
    await choose(fileOf('other.txt', 'text/plain', 'only water'));
    await stage.press('Keep it');
    await text('Download note.txt').waitFor();
    await choose(fileOf('other.txt', 'text/plain', 'only water'));
    await stage.press('Replace the file');
    await page.getByText('only water').waitFor();
    await stage.press('Delete the file');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the file' }).click();
    await text('This record has no file.').waitFor();
    expect(await stage.recordText('bread')).toContain('"attachment":null');
  });

  it('takes a file that is dropped anywhere on a record, and asks about unsaved work first.', async () => {
    const { page, visitor } = stage;
    await visitor.go(recordView);
    await page.locator('.cm-content').waitFor();
    await drop('.cm-content', [fileOf('a.txt', 'text/plain', 'dropped')]);
    await page.getByRole('region', { name: 'Preview of a.txt' }).getByText('dropped').waitFor();
    await drop('h1', [fileOf('b.txt', 'text/plain', 'b'), fileOf('c.txt', 'text/plain', 'c')]);
    await refusal('A record has one file. Choose or drop one file only.');
    await visitor.go(recordView);
    await visitor.writeEditor('{"title": "Unsaved"}');
    await drop('h1', [fileOf('d.txt', 'text/plain', 'd')]);
    await stage.press('Stay');
    expect(await visitor.editorText()).toBe('{"title": "Unsaved"}');
    expect(await stage.recordText('bread')).toContain('"filename":"a.txt"');
    await stage.press('Undo changes');
    // A collection takes no files, and the browser does not leave the console for one.
    await visitor.go(collectionView);
    const isPrevented = await page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['x'], 'x.txt'));
      const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
      return !document.querySelector('h1').dispatchEvent(event);
    })()`);
    expect(isPrevented).toBe(true);
  });

  it('shows images that only the user may read, by an address that works for others only for a while.', async () => {
    const { page, service, visitor } = stage;
    await visitor.go(view);
    await choose(fileOf('pixel.png', 'image/png', pixel));
    const image = page.getByAltText('Preview of pixel.png');
    await image.waitFor();
    await page.waitForFunction(`document.querySelector('.preview img')?.naturalWidth === 1`);
    const address = new URL((await image.getAttribute('src'))!);
    expect(address.search).toMatch(/^\?expires=\d+&signature=/);
    expect((await service.request('GET', address.pathname)).status).toBe(401);
    expect((await service.request('GET', address.pathname + address.search)).status).toBe(200);
    await stage.checkView('file-image');
  });

  it('links to PDF files, and shows no preview of large texts and other kinds.', async () => {
    const { page, service, visitor } = stage;
    await visitor.go(view);
    await choose(fileOf('menu.pdf', 'application/pdf', '%PDF-1.4'));
    const link = page.getByRole('link', { name: 'Open menu.pdf' });
    const address = new URL((await link.getAttribute('href'))!);
    expect((await service.request('GET', address.pathname + address.search)).status).toBe(200);
    await choose(fileOf('large.txt', 'text/plain', 'x'.repeat(1_000_001)));
    await stage.press('Replace the file');
    await text('Texts of more than 1.0 MB have no preview.').waitFor();
    await choose(fileOf('long.csv', 'text/csv', 'y'.repeat(30_000)));
    await stage.press('Replace the file');
    await text('Only the beginning is shown.').waitFor();
    await choose(fileOf('table.ods', 'application/vnd.oasis.opendocument.spreadsheet', 'x'));
    await stage.press('Replace the file');
    await text('Files of this kind have no preview.').waitFor();
  });

  it('explains refusals: too large, an extension, the schema, another version, and no connection.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.go(view);
    await choose(fileOf('big.txt', 'text/plain', 'x'.repeat(3_000_001)));
    await refusal(
      'The rules for files of this collection refuse big.txt (3.0 MB): the file is larger than 3000000 bytes.',
    );
    await choose(fileOf('virus.exe', 'application/octet-stream', 'x'));
    await refusal(
      'The rules for files of this collection refuse virus.exe (1 byte): files with the extension exe are not accepted.',
    );
    await stage.checkView('file-refused');
    await page.route('**/attachment', (route) => route.abort());
    await choose(fileOf('note.txt', 'text/plain', 'x'));
    await refusal('The connection ended during the upload of note.txt (1 byte).');
    await page.unroute('**/attachment');
    const schema = { type: 'object', properties: { attachment: { type: 'string' } } };
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await choose(fileOf('note.txt', 'text/plain', 'x'));
    await refusal('refuse');
    await alice.request('PATCH', collection, { body: { data: { schema: {} } } });
    await alice.request('PATCH', `${collection}/records/bread`, { body: { data: { title: 'Theirs' } } });
    await choose(fileOf('note.txt', 'text/plain', 'x'));
    await refusal('Another user has changed it in the meantime.');
    expect(await stage.recordText('bread')).not.toContain('attachment');
  });

  it('shows the progress of an upload, and stops it.', async () => {
    const { page, visitor } = stage;
    await visitor.go(view);
    // The form waits for ever, until the upload is stopped.
    await page.route('**/attachment', () => {});
    await choose(fileOf('note.txt', 'text/plain', 'x'.repeat(1_000_000)));
    await page
      .getByRole('status')
      .getByText(/Sending note\.txt: .* of 1\.0 MB/)
      .waitFor();
    await stage.checkView('file-sending');
    await stage.press('Stop');
    await refusal('The upload was stopped.');
    expect(await stage.recordText('bread')).not.toContain('attachment');
  });
});
