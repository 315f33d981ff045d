"""The Model Context Protocol: agents call the memory as tools and read it as resources.

In: a JSON-RPC message. Out: its answer. Start with `McpServer` in
`protocol.py`; `tools.py` lists the tools. `stdio.py` serves `engram mcp`, `routes.py`
the daemon's `/mcp`.
"""
