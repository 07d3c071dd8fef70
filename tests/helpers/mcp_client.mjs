// Lists and calls every tool with an official TypeScript client; prints the results as JSON.
const [library, url, key, calls] = process.argv.slice(2);
const older = library === "@modelcontextprotocol/sdk";
const { Client } = await import(older ? `${library}/client/index.js` : library);
const { StreamableHTTPClientTransport } = await import(
  older ? `${library}/client/streamableHttp.js` : library
);
const options = older ? {} : { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const client = new Client({ name: "typescript", version: "1" }, options);
const headers = { "x-api-key": key };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const answer = { tools: (await client.listTools()).tools.map((tool) => tool.name), calls: {} };
for (const [name, args] of Object.entries(JSON.parse(calls))) {
  const result = await client.callTool({ name, arguments: args });
  const refused = await client.callTool({ name, arguments: { nothing: 1 } });
  answer.calls[name] = {
    count: result.structuredContent.count,
    text: JSON.parse(result.content[0].text).count,
    refused: refused.isError && refused.structuredContent.code,
  };
}
answer.resources = (await client.listResources()).resources.length;
const read = await client.readResource({ uri: "sankofa://licence" });
answer.licence = read.contents[0].text;
console.log(JSON.stringify(answer));
await client.close();
