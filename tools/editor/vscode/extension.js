// Starts `graphrun lsp` for .pbtxt files.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async function () {
  const command = vscode.workspace.getConfiguration('graphrun').get('command', 'graphrun');
  // The server asks for the watchers of files that it needs.
  client = new LanguageClient(
    'graphrun',
    'graphrun',
    { command, args: ['lsp'] },
    { documentSelector: [{ language: 'graphrun' }] },
  );
  await client.start();
};

exports.deactivate = function () {
  return client ? client.stop() : undefined;
};
