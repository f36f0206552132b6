// Import and export in the console: preview, mapping, dry run, faults by row, and the export of a filter.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { inExtent } from '../support/extent.ts';
import { collection, collectionView, hostile, describeConsole } from './stage.ts';

const schema = {
  type: 'object',
  required: ['title'],
  properties: { title: { type: 'string', format: 'email' }, n: { type: 'number', minimum: 0 } },
};

const settings = { experimental_collection_schema_validation: 'true' };

describeConsole('Import and export in the console', { settings }, (stage) => {
  const view = `${collectionView}?_tab=transfer`;

  const choose = async (name: string, content: string): Promise<void> => {
    await stage.page.getByLabel('File', { exact: true }).setInputFiles({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(content),
    });
  };

  it('previews, maps, checks and imports CSV, and reports refusals by row.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await visitor.signIn('alice');
    await visitor.go(view);
    await choose('recipes.csv', `id,name,n,rest\na,${hostile},1.50,x\nb,"Two, more",-1,\nc,007,3,`);
    await page.getByText('3 rows.').waitFor();
    await page.getByRole('cell', { name: hostile }).first().waitFor();
    await stage.press('Dry run');
    const report = page.getByRole('alert', { name: 'Report' });
    await report.getByText('Row 2 (a): refused.').waitFor();
    await page.getByLabel('Attribute for name').fill('title');
    await page.getByLabel('Attribute for rest').fill('');
    await stage.press('Dry run');
    await report.getByText('2 passed the check, 1 not:').waitFor();
    await report.getByText('Row 3 (b): refused. n: expected a number of at least 0').waitFor();
    await stage.checkView('import');
    expect((await alice.request('HEAD', `${collection}/records`)).headers['total-objects']).toBe('0');
    await stage.press('Import 3 rows');
    await report.getByText('2 imported, 1 not:').waitFor();
    await report.getByText('Row 3 (b): refused.').waitFor();
    expect(await stage.recordText('a')).toContain(`"title":${JSON.stringify(hostile)},"n":1.50`);
    expect(await stage.recordText('c')).toContain('"title":"007","n":3');
    expect(await stage.recordText('a')).not.toContain('rest');
    // What exists stays, unless it is to be replaced.
    await choose('recipes.jsonl', '{"id":"a","title":"new","n":2.50}\n{"title":"no id"}\n');
    await stage.press('Import 2 rows');
    await report.getByText('Row 1 (a): refused. A record with this id already exists.').waitFor();
    await page.getByLabel('Records that exist already').selectOption('replace');
    await stage.press('Import 2 rows');
    await stage.status('2 records imported.');
    expect(await stage.recordText('a')).toContain('"title":"new","n":2.50');
    await choose('broken.json', '[{"a":1},');
    await page.getByRole('alert').getByText('This is not valid JSON').waitFor();
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('exports the current filter in each format, and imports it again unchanged.', async () => {
    const { page, visitor } = stage;
    const count = inExtent(700, 20_000);
    await stage.store(
      Object.fromEntries(
        Array.from({ length: count }, (_value, n) => [`r${n}`, `{"n":${n},"big":1.50,"five":"5","kind":"k${n % 2}"}`]),
      ),
    );
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?kind=k1&_sort=n`);
    await page.getByRole('link', { name: 'Export', exact: true }).click();
    await page.getByText('kind is k1').waitFor();
    const read = async (format: string): Promise<string> => {
      await page.getByLabel('Format of the file').selectOption(format);
      const [download] = await Promise.all([page.waitForEvent('download'), stage.press('Export')]);
      expect(download.suggestedFilename()).toBe(`recipes.${format}`);
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      return readFileSync(await download.path(), 'utf8');
    };
    const lines = (await read('jsonl')).trim().split('\n');
    expect(lines.length).toBe(count / 2);
    expect(lines[0]).toContain('"n":1,"big":1.50,"five":"5"');
    expect(JSON.parse(await read('json'))).toHaveLength(count / 2);
    const csv = await read('csv');
    expect(csv.split('\r\n')[0]).toBe('id,n,big,five,kind,last_modified');
    expect(csv.split('\r\n')[1]).toMatch(/^r1,1,1\.50,"""5""",k1,\d+$/);
    await stage.checkView('export');
    const before = await stage.recordText('r1');
    await visitor.go(view);
    await choose('again.csv', csv);
    await page.getByLabel('Records that exist already').selectOption('replace');
    await page.getByRole('button', { name: /^Import [\d,]+ rows$/ }).click();
    const imported = `${new Intl.NumberFormat('en-US').format(count / 2)} records imported.`;
    await page.getByRole('status').getByText(imported).waitFor({ timeout: 120_000 });
    const data = (text: string): string => /"data":\{.*"kind":"k1"/.exec(text)?.[0] ?? '';
    expect(data(await stage.recordText('r1'))).toBe(data(before));
    expect(data(before)).not.toBe('');
  });
});
