// What the console reads and writes for imports and exports.
import { describe, expect, it } from 'vitest';
import { cellOfValue, formatCsvRow, parseCsv, separatorOf, valueOfCell } from '../../admin/src/areas/transfer/csv.ts';
import { formatRecords } from '../../admin/src/areas/transfer/format-records.ts';
import { draftsOf, firstMapping, formatOf, parseSource } from '../../admin/src/areas/transfer/source.ts';

const odd = String.raw`{"id":"odd","n":12345678901234567890.10,"five":"5","text":"a \"b\",\r\n c;d","empty":"","tags":["x",1.0],"__proto__":{"a":null},"yes":true,"word":"true","list":"[1]","quoted":"\"q\"","space":" s "}`;

describe('CSV', () => {
  it('has no cells that programs for spreadsheets compute', () => {
    const row = String.raw`{"id":"a","=now()":"=HYPERLINK(\"http://evil.example\")","p":"+1+1","t":"\t@x","m":"-a","n":-5}`;
    const text = formatRecords([row], 'csv').join('');
    const cells = parseCsv(text, ',').flatMap((line) => line.cells);
    expect(cells.filter((cell) => /^\s*[=+\-@]/.test(cell))).toEqual(['-5']);
    const source = parseSource(text, 'csv');
    const { id, ...data } = JSON.parse(row) as Record<string, unknown>;
    expect(draftsOf(source, firstMapping(source, [])).map((draft) => [draft.id, JSON.parse(draft.data)])).toEqual([
      [id, data],
    ]);
  });

  it('has quoted cells with separators, quotes and line ends, and knows the line of each row.', () => {
    const text = '\u{feff}a,"b ""x"""\r\n"1\n2",,\r\n\r\n3,4';
    expect(parseCsv(text, ',')).toEqual([
      { line: 1, cells: ['a', 'b "x"'] },
      { line: 2, cells: ['1\n2', '', ''] },
      { line: 5, cells: ['3', '4'] },
    ]);
    expect(formatCsvRow(['a', 'b "x"', '1\n2', ';'])).toBe('a,"b ""x""","1\n2",";"');
    expect(() => parseCsv('a\n"b', ',')).toThrow('Line 2: a quote does not end.');
    expect(() => parseCsv('"a"b', ',')).toThrow('Line 1: expected a separator after a quote.');
    expect([separatorOf('a;b;c,d\n1'), separatorOf('a\tb'), separatorOf('a')]).toEqual([';', '\t', ',']);
  });

  it('returns each value as it was.', () => {
    const values = ['1.50', '"5"', '"a"', 'true', '"true"', '[1.0]', '{"a":"b"}', 'null', '" x "', '"\\"q\\""', '""'];
    expect(values.map((value) => valueOfCell(cellOfValue(value)))).toEqual(values);
    expect([valueOfCell(' '), valueOfCell('007'), valueOfCell('-'), valueOfCell('{x}')]).toEqual([
      undefined,
      '"007"',
      '"-"',
      '"{x}"',
    ]);
  });
});

describe('An export', () => {
  it.each(['json', 'jsonl', 'csv'] as const)('as %s is imported unchanged.', (format) => {
    const source = parseSource(formatRecords([odd, '{"id":"b"}'], format).join(''), format);
    const [first, second] = draftsOf(source, firstMapping(source, ['last_modified']));
    expect(first).toMatchObject({ id: 'odd', fault: undefined });
    expect(first?.data.replace(/^\{/, '{"id":"odd",').replaceAll(/\s/g, '')).toBe(odd.replaceAll(/\s/g, ''));
    expect(second).toMatchObject({ id: 'b', data: '{}' });
  });
});

describe('An import', () => {
  it('recognises formats by name and content.', () => {
    const guesses = [
      formatOf('a.csv', '[]'),
      formatOf('a.txt', ' [{}]'),
      formatOf('a', '{"data":[]}'),
      formatOf('a', '{"a":1}\n{"a":2}'),
      formatOf('a.txt', 'a;b'),
    ];
    expect(guesses).toEqual(['csv', 'json', 'json', 'jsonl', 'csv']);
  });

  it('reads cells as the schema says, so that digits of a text stay a text.', () => {
    const schema =
      '{"properties":{"zip":{"type":"string"},"n":{"type":"number"},"ok":{"type":"boolean"},"size":{"enum":["1","2"]},"tags":{"type":"array","items":{}}}}';
    const csv = parseSource(
      'id,zip,n,ok,size,tags,other\n7,0123,5,true,1,[1.0],5\nb,QQQ5QQQ,,,,,'.replaceAll('Q', '"'),
      'csv',
    );
    const mapping = firstMapping(csv, [], schema);
    expect(mapping.map(({ kind }) => kind)).toEqual(['text', 'text', 'number', 'boolean', 'text', 'json', 'auto']);
    expect(draftsOf(csv, mapping).map(({ id, data }) => [id, data])).toEqual([
      ['7', '{"zip":"0123","n":5,"ok":true,"size":"1","tags":[1.0],"other":5}'],
      ['b', '{"zip":"5"}'],
    ]);
  });

  it('reports faults by row.', () => {
    const lines = parseSource('{"id":"a"}\n\n{"id":\n[1]\n{"id":"a"}\n{"id":"../x"}', 'jsonl');
    const faults = draftsOf(lines, firstMapping(lines, [])).map(({ place, fault }) => [place, fault]);
    expect(faults[0]).toEqual([1, undefined]);
    expect(faults[1]?.[1]).toContain('This is not valid JSON');
    expect(faults.slice(2)).toEqual([
      [4, 'This must be a JSON object: members between { and }.'],
      [5, 'The id a occurs already in row 1.'],
      [6, 'The id "../x" is not valid.'],
    ]);
    const csv = parseSource('id,n,ok\na,1.50,yes\nb,x,TRUE\nc,1,true,4', 'csv');
    const mapping = firstMapping(csv, []).map((each) =>
      each.source === 'n'
        ? { ...each, kind: 'number' as const, target: 'price' }
        : each.source === 'ok'
          ? { ...each, kind: 'boolean' as const }
          : each,
    );
    expect(draftsOf(csv, mapping).map(({ data, fault }) => [data, fault])).toEqual([
      ['{"price":1.50}', 'ok: "yes" is not true or false.'],
      ['{"ok":true}', 'n: "x" is not a number.'],
      ['{"price":1,"ok":true}', 'The line has 4 cells, but the first line names 3 columns.'],
    ]);
    const merged = draftsOf(
      csv,
      firstMapping(csv, []).map((each) => ({ ...each, target: 'x' })),
    );
    expect(merged[0]?.fault).toBe('Two fields become the attribute x.');
    expect(() => parseSource('{}', 'json')).toThrow('Expected an array of objects');
    expect(() => parseSource('a,a\n', 'csv')).toThrow('Two columns have the same name.');
  });
});
