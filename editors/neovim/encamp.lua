-- Job files in Neovim 0.7 and later: put this file into ~/.config/nvim/plugin/.

vim.filetype.add({
  extension = { nomad = 'nomad', nomadvars = 'nomad' },
  pattern = { ['.*%.nomad%.hcl'] = 'nomad', ['.*%.vars%.hcl'] = 'nomad' },
})

-- Names and plans of a cluster: { 'encamp', 'lsp', '-snapshot', 'cluster.json' }, or { 'encamp', 'lsp', '-context', 'NAME' }.
local command = { 'encamp', 'lsp' }

vim.api.nvim_create_autocmd('FileType', {
  pattern = 'nomad',
  callback = function(event)
    vim.bo[event.buf].commentstring = '# %s'
    local start = vim.lsp.start or vim.lsp.start_client
    local id = start({ name = 'encamp', cmd = command, root_dir = vim.fn.getcwd() })
    if id and not vim.lsp.start then
      vim.lsp.buf_attach_client(event.buf, id)
    end
  end,
})

-- What the lenses above a job run: their output opens in a new window.
for _, name in ipairs({ 'encamp.plan', 'encamp.explain', 'encamp.suggest' }) do
  vim.lsp.commands[name] = function(action, context)
    local client = vim.lsp.get_client_by_id(context.client_id)
    client.request('workspace/executeCommand', action, function(_, result)
      if result then
        vim.cmd('botright new')
        vim.bo.buftype, vim.bo.bufhidden = 'nofile', 'wipe'
        vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(result.text, '\n'))
      end
    end, context.bufnr)
  end
end
